import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDesk, programOf, temporaryFolder } from "./support/desk.ts";
import { release, serve } from "./support/http-server.ts";

/** Servers of the public registry, each with its own release of the protocol's libraries. */
const FILESYSTEM = programOf("@modelcontextprotocol/server-filesystem/dist/index.js");
const MEMORY = programOf("@modelcontextprotocol/server-memory/dist/index.js");
const EVERYTHING = programOf("@modelcontextprotocol/server-everything/dist/index.js");

test("server-filesystem: roles decide who reads and who writes, and the server limits the folder", async () => {
  await using folder = await temporaryFolder();
  const docs = join(folder.path, "docs");
  await mkdir(docs);
  await writeFile(join(docs, "a.txt"), "hello");
  await writeFile(join(folder.path, "secret.txt"), "secret");
  await using desk = await openDesk({
    name: "fs",
    server: { command: process.execPath, args: [FILESYSTEM, docs] },
    roles: { read_text_file: ["support"], write_file: ["manager"] },
  });

  expect(desk.names.toSorted()).toEqual(["fs_read_text_file", "fs_write_file"]);
  const read = (path: string, role: string) => desk.call("fs_read_text_file", { path }, { role });
  expect(await read(join(docs, "a.txt"), "support")).toEqual({ ok: true, value: { content: "hello" } });
  expect(await read(join(docs, "a.txt"), "guest")).toMatchObject({ ok: false, code: "unknown_function" });
  expect(await read(join(folder.path, "secret.txt"), "support")).toMatchObject({
    ok: false,
    code: "function_failed",
    message: expect.stringContaining("Access denied"),
  });
  const write = (role: string) => desk.call("fs_write_file", { path: join(docs, "b.txt"), content: "x" }, { role });
  expect(await write("support")).toMatchObject({ ok: false, code: "unknown_function" });
  expect(await write("manager")).toMatchObject({ ok: true });
  expect(await readFile(join(docs, "b.txt"), "utf8")).toBe("x");
});

test("server-memory: structured results match the server's output schema", async () => {
  await using folder = await temporaryFolder();
  await using desk = await openDesk({
    name: "memory",
    server: { command: process.execPath, args: [MEMORY], env: { MEMORY_FILE_PATH: join(folder.path, "memory.jsonl") } },
  });
  const entity = { name: "Ada", entityType: "person", observations: ["writes programs"] };
  expect(await desk.call("memory_create_entities", { entities: [entity] })).toMatchObject({ ok: true });
  expect(await desk.call("memory_read_graph", {})).toEqual({
    ok: true,
    value: { entities: [entity], relations: [] },
  });
});

test("server-everything: every tool becomes a function, and long ones report progress", async () => {
  await using desk = await openDesk({
    name: "all",
    server: { command: process.execPath, args: [EVERYTHING, "stdio"] },
  });
  expect(desk.log.lines.filter(({ level }) => level === "warn")).toEqual([]);
  expect(await desk.call("all_echo", { message: "hi" })).toEqual({ ok: true, value: "Echo: hi" });
  expect(await desk.call("all_get-structured-content", { location: "New York" })).toMatchObject({
    ok: true,
    value: { temperature: expect.any(Number) },
  });
  expect(await desk.call("all_get-tiny-image", {})).toMatchObject({
    ok: true,
    value: expect.stringMatching(/\[image\/png, \d+ KiB left out\]/),
  });
});

test("a server over HTTP of the 2026 revision receives the token, and headers that depend on the caller", async () => {
  const { fetch, calls } = release();
  await using http = await serve(fetch);
  const server = {
    url: http.url,
    token: "secret",
    headers: ({ role }: { role: string | undefined }) => ({ "x-role": role ?? "none" }),
  };
  await using desk = await openDesk({ name: "remote", server });
  expect(await desk.call("remote_who", {}, { role: "support" })).toEqual({ ok: true, value: "support" });
  expect(await desk.call("remote_who", {}, { role: "manager" })).toEqual({ ok: true, value: "manager" });
  expect(calls.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer secret", "Bearer secret"]);
});

test("a server over HTTP that refuses the token does not start", async () => {
  const refusing = createServer((_request, response) => response.writeHead(401).end());
  const refused = await listen(refusing);
  await expect(openDesk({ server: { url: refused } })).rejects.toThrow('The MCP server "h" did not start');
  refusing.close();
});

test.each(["application/json", "text/event-stream"])(
  "of an endless answer of type %s, a limited part is read",
  async (type) => {
    let sentMiB = 0;
    const endless = createServer((request, response) => {
      response.writeHead(200, { "content-type": type });
      const chunk = "x".repeat(1024 * 1024);
      const write = () => {
        do sentMiB++;
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", write);
      request.on("end", write).resume();
    });
    const url = await listen(endless);
    await expect(openDesk({ server: { url }, startTimeoutMs: 2_000 })).rejects.toThrow('MCP server "h" did not start');
    endless.closeAllConnections();
    endless.close();
    // 16 MiB, and what the buffers of two sockets hold.
    expect(sentMiB).toBeLessThan(40);
  },
);

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
