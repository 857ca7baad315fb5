import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateRetailData } from "../../examples/retail-desk/data/generate.ts";
import { createRetailDesk } from "../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../examples/retail-desk/store.ts";
import { startSystem } from "@patchbay/test-support/system";

const run = promisify(execFile);
const patchbay = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url));
const PAGES = [
  "README.md",
  "docs/guides/http.md",
  "docs/guides/streaming.md",
  "docs/guides/structured-answers.md",
  "docs/guides/agent-settings.md",
];

/** The commands of a page, each with the output below it. */
function examplesOf(page: string) {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/```sh\n((?:curl|patchbay agents) [^`]*?)\n```\n\n```(json)?\n([\s\S]*?)\n```$/gm)].map(
    ([, command = "", json, output = ""]) => ({ command, json: json !== undefined, output }),
  );
}

/** Ids and times differ from run to run; everything else must be as shown. */
function steady(text: string): string {
  return text
    .replace(/\b(thr|run|call)_[0-9a-f]{32}/g, "$1_…")
    .replace(/\bagt_[0-9A-Za-z]{22}/g, "agt_…")
    .replace(/\breq_[0-9a-f-]{36}/g, "req_…")
    .replace(/("(?:executionTimeMs|execution_time_ms)":\s*)\d+/g, "$10");
}

test("the README has at most 150 lines", () => {
  const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

test("the pages show a curl for each endpoint", () => {
  const commands = ["docs/guides/http.md", "docs/guides/streaming.md"]
    .flatMap((page) => examplesOf(page).map(({ command }) => command))
    .join("\n");
  for (const path of ["$AGENT/query ", "$AGENT/query-stream ", "/agent/query-stream "])
    expect(commands).toContain(path);
});

describe.each(PAGES)("%s", (page) => {
  // In a file, for commands that run while the server runs.
  const folder = mkdtempSync(join(tmpdir(), "patchbay-docs-"));
  const database = `sqlite:${join(folder, "patchbay.db")}`;
  let system: Awaited<ReturnType<typeof startSystem>>;
  beforeAll(async () => {
    system = await startSystem({ database, service: createRetailDesk(createRetailStore(() => generateRetailData())) });
  });
  afterAll(async () => {
    await system[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test("has an example", () => {
    expect(examplesOf(page)).not.toEqual([]);
  });

  test.each(examplesOf(page))("the output is correct: $command", async ({ command, json, output }) => {
    const env = {
      ...process.env,
      BASE: system.url,
      AGENT: system.agentId,
      KEY: system.apiKey,
      TOKEN: system.accessToken,
      PATCHBAY_DATABASE: database,
      NO_COLOR: "1",
    };

    const line = command
      .replaceAll("curl ", "curl --silent --show-error ")
      .replaceAll("patchbay ", `"${process.execPath}" "${patchbay}" `);
    const { stdout } = await run("sh", ["-c", line], { env, cwd: folder });

    if (json) expect(JSON.parse(steady(stdout))).toEqual(JSON.parse(steady(output)));
    else expect(steady(stdout).trim()).toBe(steady(output).trim());
  });
});
