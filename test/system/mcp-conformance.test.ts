import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startConformanceServer } from "../support/mcp-conformance.ts";

const SUITE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
const BASELINE = join(import.meta.dirname, "mcp-conformance.yaml");

test.each(["2025-11-25", "2026-07-28"])(
  "the endpoint of MCP conforms to %s, but for the baseline",
  async (revision) => {
    await using server = await startConformanceServer();
    const options = ["--url", server.url, "--requirements", revision, "--expected-failures", BASELINE];
    const suite = spawn(process.execPath, [SUITE, "server", ...options], { stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors, [exitCode]] = await Promise.all([
      text(suite.stdout),
      text(suite.stderr),
      once(suite, "exit") as Promise<[number]>,
    ]);

    expect({ exitCode, errors, verdict: output.slice(output.indexOf("=== SUMMARY ===")) }).toMatchObject({
      exitCode: 0,
      errors: "",
      verdict: expect.stringContaining("Baseline check passed"),
    });
  },
);
