import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freePort } from "@patchbay/test-support/free-port";
import { openDesk, programOf } from "./support/desk.ts";
import { release, serve } from "./support/http-server.ts";

afterEach(() => void vi.useRealTimers());

describe("a server over HTTP without sessions", () => {
  const down = { ok: false, code: "function_failed", message: 'The MCP server "h" is not running. Try again later.' };

  test("is called again after a restart, and calls fail while it is down", async () => {
    await using http = await serve(release().fetch);
    await using desk = await openDesk({ server: { url: http.url } });
    await http.stop();
    // A call on a connection that the server had closed may have reached it.
    await expect.poll(() => desk.call("h_who", {})).toEqual(down);
    expect(await desk.call("h_who", {})).toEqual(down);
    await http.start();

    await expect.poll(() => desk.call("h_who", {})).toEqual({ ok: true, value: "none" });
  });

  test("that restarts with another definition of a tool does not receive its calls", async () => {
    let current = release();
    await using http = await serve((request) => current.fetch(request));
    await using desk = await openDesk({ server: { url: http.url } });
    await http.stop();
    await desk.log.until("may have restarted");
    current = release({ description: "Says who calls, and sends it away." });
    await http.start();

    expect(await desk.call("h_who", {})).toMatchObject({
      code: "function_failed",
      message: expect.stringContaining('changed its tool "who"'),
    });
    expect(current.calls).toEqual([]);
  });

  test("that another one replaces does not receive calls", async () => {
    let current = release();
    await using http = await serve((request) => current.fetch(request));
    await using desk = await openDesk({ server: { url: http.url } });
    await http.stop();
    await desk.log.until("may have restarted");
    current = release({ name: "other" });
    await http.start();

    expect(await desk.call("h_who", {})).toMatchObject({
      code: "function_failed",
      message: expect.stringContaining("was replaced by another one"),
    });
    expect(current.calls).toEqual([]);
    expect(desk.log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", fields: { mcpServer: "h", title: "other", before: "remote" } }),
    );
  });

  test("is read again after 10 seconds, because another release can take its place without a sign", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const first = release();
    let current = first;
    await using http = await serve((request) => current.fetch(request));
    await using desk = await openDesk({ server: { url: http.url } });
    const changed = release({ description: "Says who calls, and sends it away." });
    current = changed;
    vi.advanceTimersByTime(10_001);

    expect(await desk.call("h_who", {})).toMatchObject({ message: expect.stringContaining("changed its tool") });
    expect(changed.calls).toEqual([]);
    current = first;
    vi.advanceTimersByTime(10_001);
    expect(await desk.call("h_who", {})).toEqual({ ok: true, value: "none" });
  });

  test("is read again 10 seconds after the last read began, however slow it answers", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    let current = release();
    await using http = await serve(async (request) => {
      if ((await request.clone().text()).includes('"tools/list"')) vi.advanceTimersByTime(8_000);
      return await current.fetch(request);
    });
    await using desk = await openDesk({ server: { url: http.url } });
    current = release({ description: "Says who calls, and sends it away." });
    vi.advanceTimersByTime(2_001);

    expect(await desk.call("h_who", {})).toMatchObject({ message: expect.stringContaining("changed its tool") });
  });

  test.each([
    ["makes the outcome unknown", {}, { code: "outcome_unknown" }],
    ["is a failure if the call may run twice", { idempotent: true }, { code: "function_failed" }],
  ])("whose answer ends in the middle %s", async (_name, who, outcome) => {
    const { fetch } = release();
    await using http = await serve(async (request) =>
      request.headers.get("mcp-method") === "tools/call"
        ? new Response("event: message\n", { headers: { "content-type": "text/event-stream" } })
        : fetch(request),
    );
    await using desk = await openDesk({ server: { url: http.url }, override: { who } });

    expect(await desk.call("h_who", {})).toMatchObject({ ok: false, ...outcome });
  });
});

describe("a server over HTTP with sessions", () => {
  test("is called again after a restart that has ended its sessions", async () => {
    const port = await freePort();
    const first = await startEverything(port);
    await using desk = await openDesk({ name: "all", server: { url: `http://127.0.0.1:${port}/mcp` } });
    await end(first);
    const second = await startEverything(port);
    try {
      await expect.poll(() => desk.call("all_echo", { message: "hi" })).toEqual({ ok: true, value: "Echo: hi" });
    } finally {
      await end(second);
    }
  });

  test("that ends during a call makes the outcome unknown", async () => {
    const port = await freePort();
    const server = await startEverything(port);
    await using desk = await openDesk({ name: "all", server: { url: `http://127.0.0.1:${port}/mcp` } });
    const { promise: progress, resolve: onProgress } = Promise.withResolvers<unknown>();
    const args = { duration: 100, steps: 1000 };
    const call = desk.call("all_trigger-long-running-operation", args, { onProgress, timeoutMs: 200_000 });
    await progress;
    await end(server);

    expect(await call).toMatchObject({ ok: false, code: "outcome_unknown" });
  });
});

/** A server of the public registry that keeps a session for each client in its memory. */
async function startEverything(port: number): Promise<ChildProcess> {
  const program = programOf("@modelcontextprotocol/server-everything/dist/index.js");
  const child = spawn(process.execPath, [program, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await new Promise<void>((resolve) =>
    child.stderr.on("data", (chunk: Buffer) => {
      if (chunk.includes("listening")) resolve();
    }),
  );
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
