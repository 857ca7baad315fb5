import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { freePort } from "@patchbay/test-support/free-port";
import { INSPECTOR } from "@patchbay/test-support/inspector";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { startSignedInDesk } from "../support/signed-in-desk.ts";

let desk: Awaited<ReturnType<typeof startSignedInDesk>>;

beforeAll(async () => {
  desk = await startSignedInDesk();
});
beforeEach(() => void desk.handled.splice(0));
afterAll(async () => await desk?.[Symbol.asyncDispose]());

/** The environment of a program that stores nothing outside of its folder and starts no browser. */
async function environment() {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-sign-in-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { HOME: folder, PATH: "", BROWSER: "/bin/true" };
}

/** Visits the address that a program prints for a browser, once the program says that it listens for the browser's return. */
async function visit(log: Readable, { address, listens, user }: { address: RegExp; listens: RegExp; user: string }) {
  let seen = "";
  // A program whose log is closed fails.
  for await (const chunk of log.iterator({ destroyOnReturn: false })) {
    seen += String(chunk);
    const [, url] = address.exec(seen) ?? [];
    if (url === undefined || !listens.test(seen)) continue;
    const returned = await fetch(await desk.provider.signIn(url, user));
    log.resume();
    return returned.status;
  }
  throw new Error(`The program printed no address: ${seen}`);
}

test("mcp-remote signs in and passes on the calls of its user", async () => {
  const env = await environment();
  const program = fileURLToPath(import.meta.resolve("mcp-remote/dist/proxy.js"));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, `${desk.address}/mcp`],
    env: { ...env, MCP_REMOTE_CONFIG_DIR: env.HOME },
    stderr: "pipe",
  });
  const ada = new Client({ name: "ada", version: "1" });
  const visited = visit(transport.stderr as Readable, {
    address: /visiting:\s+(\S+)\s/,
    listens: /callback server running/,
    user: "ada",
  });

  await ada.connect(transport);
  expect(await visited).toBe(200);
  expect((await ada.listTools()).tools.map(({ name }) => name)).toEqual(["look", "sell"]);
  await ada.callTool({ name: "sell", arguments: {} });
  await expect(ada.callTool({ name: "wipe", arguments: {} })).rejects.toThrow("Unknown tool: wipe");
  await ada.close();
  expect(desk.handled).toEqual([["sell", "clerk", "ada"]]);
});

test("the command line of the MCP Inspector signs in and calls a function of the role", async () => {
  const back = `http://127.0.0.1:${await freePort()}/oauth/callback`;
  const request = ["--method", "tools/call", "--tool-name", "wipe", "--format", "json"];
  const options = ["--cli", "--server-url", `${desk.address}/mcp`, "--transport", "http", "--callback-url", back];
  const child = spawn(process.execPath, [INSPECTOR, ...options, ...request], {
    // Without a terminal it signs in only if it may open a browser.
    env: { ...(await environment()), MCP_AUTO_OPEN_ENABLED: "true" },
  });
  const ended = once(child, "exit");
  const result = text(child.stdout);
  const visited = visit(child.stderr, { address: /navigate to: (\S+)\s/, listens: /navigate to/, user: "grace" });

  expect(await visited).toBe(200);
  expect(await ended).toEqual([0, null]);
  expect(JSON.parse(await result)).toMatchObject({ result: { content: [{ text: "wipe was done" }] } });
  expect(desk.handled).toEqual([["wipe", "manager", "grace"]]);
});
