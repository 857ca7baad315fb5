import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, expect, test } from "vitest";
import { startDesk } from "../support/mcp-desk.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/mcp.md"), "utf8");

const blockOf = (before: string, language: string): string => {
  const [, code = ""] = new RegExp("```" + language + "\\n(.*?)```", "s").exec(page.slice(page.indexOf(before))) ?? [];
  return code;
};

let system: Awaited<ReturnType<typeof startDesk>>;
let apiKey: string;
beforeAll(async () => {
  system = await startDesk();
  ({ apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["clerk"] }));
  return () => system[Symbol.asyncDispose]();
});

/** The text with the address and the key of the test's service, as a reader fills them in. */
const filled = (text: string): string =>
  text
    .replaceAll("https://patchbay.example.com", system.url)
    .replaceAll("AGENT_ID", system.agentId)
    .replaceAll(/service_live_\.\.\.|\$\{(env:PATCHBAY_API_KEY|input:patchbay-key)\}/g, apiKey);

async function toolsOver(transport: StreamableHTTPClientTransport | StdioClientTransport): Promise<string[]> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

const overHttp = ({ url, headers }: { url: string; headers: Record<string, string> }) =>
  toolsOver(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const CLERK = ["fails", "numbers", "orders_find", "slow", "steps"];

test("the command for Claude Code names the address and the header of its key", async () => {
  const words = filled(blockOf("Claude Code:", "sh")).match(/"[^"]*"|[^\s\\"]+/g) ?? [];
  const args = words.slice(3).map((word) => word.replaceAll('"', ""));
  const options = { transport: { type: "string" }, header: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [, name = "", value = ""] = /^([^:]+): (.*)$/.exec(values.header ?? "") ?? [];

  expect([...words.slice(0, 3), values.transport, positionals[0]]).toEqual(["claude", "mcp", "add", "http", "desk"]);
  expect(await overHttp({ url: positionals[1] ?? "", headers: { [name]: value } })).toEqual(CLERK);
});

test.each([
  ["Cursor", "Cursor, in", "mcpServers"],
  ["VS Code", "VS Code, in", "servers"],
])("the file for %s names the address and the header of its key", async (_client, before, member) => {
  const file = JSON.parse(filled(blockOf(before, "json"))) as Record<string, { desk: Parameters<typeof overHttp>[0] }>;

  expect(await overHttp(file[member]!.desk)).toEqual(CLERK);
});

test("the file for clients that start processes starts `patchbay mcp`", async () => {
  const text = filled(blockOf("A client that starts processes only", "json")).replace('"support"', '"clerk"');
  const { mcpServers } = JSON.parse(text) as {
    mcpServers: { desk: { command: string; args: string[]; env: Record<string, string> } };
  };
  const { command, args, env } = mcpServers.desk;

  expect([command, ...args.slice(0, 3)]).toEqual(["npx", "--prefix", "/path/to/your/service", "patchbay"]);
  const local = [join(root, "packages/cli/src/main.ts"), ...args.slice(3)];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: local,
    env: { PATH: process.env["PATH"]!, ...env },
  });
  expect(await toolsOver(transport)).toEqual(CLERK);
});
