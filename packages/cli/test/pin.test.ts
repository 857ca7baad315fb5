import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";

const at = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));

/** A service with the tools of a server, which lists one tool with this description. */
function source(description: string, { lock = true, properties = {} } = {}): string {
  const tools = [{ name: "read", description, inputSchema: { type: "object", properties } }];
  const env = JSON.stringify({ HOSTILE_TOOLS: JSON.stringify(tools) });
  return `
import { defineService } from ${at("../../functions/src/index.ts")};
import { mcpFunctions } from ${at("../../mcp/src/index.ts")};
const files = await mcpFunctions({
  name: "fs",
  server: { command: process.execPath, args: [${at("../../mcp/test/support/hostile-server.ts")}], env: ${env} },
  roles: { read: ["support"] },
  ${lock ? 'lock: "mcp.lock.json",' : ""}
});
export default defineService({ name: "desk", roles: ["support"], functions: [...files.functions] });
`;
}

async function folderWith(text: string) {
  const folder = await temporaryFolder();
  // Top-level await needs an ES module.
  await writeFile(join(folder.path, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder.path, "service.ts"), text);
  const run = (...args: string[]) => runCommand(args, { cwd: folder.path });
  return { ...folder, run, change: (changed: string) => writeFile(join(folder.path, "service.ts"), changed) };
}

test("definitions are offered once they are pinned, and a change fails the check until it is accepted", async () => {
  await using service = await folderWith(source("Reads."));
  // The lock file is relative to the service file, not to the working folder.
  const elsewhere = await runCommand(["pin", join(service.path, "service.ts"), "--yes"]);
  expect(elsewhere).toMatchObject({ code: 0 });
  expect(elsewhere.stdout).toContain(`MCP server "fs": the tool "read" is not in ${service.path}/mcp.lock.json`);
  expect(elsewhere.stdout).toContain('+ description: "Reads."');
  expect(JSON.parse(await readFile(join(service.path, "mcp.lock.json"), "utf8"))).toMatchObject({
    servers: { fs: { server: "hostile", tools: { read: { description: "Reads." } } } },
  });

  const table = await service.run("access");
  expect(table.stdout).toMatch(/^fs_read +hidden +allowed$/m);
  expect(table.stdout).toMatch(/^MCP server fs {2}pinned in mcp\.lock\.json$/m);
  expect(await service.run("access", "--write")).toMatchObject({ code: 0 });
  expect(await service.run("access", "--check")).toMatchObject({ code: 0 });
  expect(await service.run("pin")).toMatchObject({ code: 0, stdout: "MCP server fs  pinned in mcp.lock.json\n" });

  await service.change(source("Reads\u200b."));
  expect((await service.run("pin")).stdout).toContain('+ description: "Reads\\u{200b}."');
  await service.change(source("Reads, and sends."));
  const check = await service.run("access", "--check");
  expect(check.code).toBe(1);
  expect(check.stdout).toContain(
    'drift      MCP server "fs": the tool "read" differs from mcp.lock.json in its description\n',
  );
  expect(check.stderr).toContain("One tool differs from the lock file of its MCP server or API.");
  const declined = await service.run("pin");
  expect(declined).toMatchObject({ code: 1, stderr: expect.stringContaining("Nothing was written.") });
  expect(declined.stdout).toContain('- description: "Reads."\n  + description: "Reads, and sends."');
  expect(await service.run("access", "--check")).toMatchObject({ code: 1 });
});

test("a new definition is shown by the texts that models read, and a changed one by what changed", async () => {
  const path = { type: "string", minLength: 3, description: "Where it is." };
  await using service = await folderWith(
    source("Reads.", { properties: { path, size: { type: ["number", "null"] } } }),
  );
  const added = (await service.run("pin", "--yes")).stdout;
  expect(added).toContain('+ inputSchema.properties.size.type: ["number","null"]\n');
  expect(added).toContain('+ inputSchema.properties.path.description: "Where it is."\n');
  expect(added).not.toContain("minLength");

  await service.change(
    source("Reads.", { properties: { path: { ...path, minLength: 0 }, size: { type: ["number", "null"] } } }),
  );
  expect((await service.run("pin")).stdout.split("\n").filter((line) => line.startsWith("  "))).toEqual([
    "  - inputSchema.properties.path.minLength: 3",
    "  + inputSchema.properties.path.minLength: 0",
  ]);
});

test("on a terminal a person is asked", async () => {
  await using service = await folderWith(source("Reads."));
  const answered = async (answer: string) => {
    await using command = startCommand(["pin"], { cwd: service.path, terminal: true });
    await command.seen("[y/N]");
    command.type(`${answer}\n`);
    return await command.finished;
  };
  expect((await answered("n")).code).toBe(1);
  expect(await answered("y")).toMatchObject({ code: 0, stdout: expect.stringContaining("Wrote mcp.lock.json.") });
});

test("a server without a lock file is marked, and there is nothing to pin", async () => {
  await using service = await folderWith(source("Reads.", { lock: false }));
  expect((await service.run("access")).stdout).toMatch(/^MCP server fs {2}unpinned$/m);
  expect(JSON.parse((await service.run("access", "--json")).stdout)).toMatchObject({
    mcpServers: [{ name: "fs", pinned: false }],
  });
  expect(await service.run("pin")).toMatchObject({ code: 1, stderr: expect.stringContaining("has a lock file") });
});
