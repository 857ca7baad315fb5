import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startDesk } from "../support/mcp-desk.ts";

const COMMAND = join(import.meta.dirname, "../../packages/cli/src/main.ts");

test.each(["legacy", { pin: "2026-07-28" }] as const)(
  "`patchbay mcp` serves a client with the version %j over stdio",
  async (mode) => {
    await using system = await startDesk();
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [COMMAND, "mcp", "--role", "clerk"],
        stderr: "ignore",
        env: {
          PATH: process.env["PATH"]!,
          PATCHBAY_URL: system.url,
          PATCHBAY_AGENT: system.agentId,
          PATCHBAY_API_KEY: system.apiKey,
        },
      }),
    );
    const { tools } = await client.listTools();
    const found = await client.callTool({ name: "orders_find", arguments: { id: "o1" } });
    await client.callTool({ name: "steps", arguments: {} }, { onprogress: system.seen });
    const gone = new AbortController();
    const slow = client.callTool({ name: "slow", arguments: {} }, { signal: gone.signal }).catch(() => undefined);
    const signal = await system.started;
    gone.abort();
    await slow;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await client.close();

    expect(tools.map(({ name }) => name)).toEqual(["fails", "numbers", "orders_find", "slow", "steps"]);
    expect(found.structuredContent).toEqual({ id: "o1" });
  },
);

test("`patchbay mcp` puts the question of a call to the user of a client of 2025", async () => {
  await using system = await startDesk();
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  const capabilities = { elicitation: {} };
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" }, capabilities });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  const target = ["--url", system.url, "--agent", system.agentId, "--role", "manager"];
  const env = { PATH: process.env["PATH"]!, PATCHBAY_API_KEY: apiKey };
  const args = [COMMAND, "mcp", ...target];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }));

  const refunded = await client.callTool({ name: "refund", arguments: { amount: 3 } });

  expect(refunded).toMatchObject({ content: [{ type: "text", text: '{"refunded":3}' }] });
  await client.close();
});

test("`patchbay mcp` ends with exit code 1 and the reason on stderr when its key is refused", async () => {
  await using system = await startDesk();
  const target = ["--url", system.url, "--agent", system.agentId, "--key", "service_live_wrong"];
  const child = spawn(process.execPath, [COMMAND, "mcp", ...target], { stdio: "pipe", cwd: tmpdir() });
  child.stdin.write('not json\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n');

  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);

  expect(code).toEqual([1, null]);
  expect(stderr).toContain("The service refused the request");
  const answers = stdout.trim().split("\n");
  expect(answers.map((line) => (JSON.parse(line) as { id: unknown }).id)).toEqual([null, 1]);
});
