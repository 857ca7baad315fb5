import { functionSources } from "@patchbay/functions/sources";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Desk, openDesk } from "./support/desk.ts";

const manifestOf = (desk: Desk, name: string) =>
  desk.files.functions.find((one) => one.manifest.name === name)!.manifest;

describe("tools as functions", () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await openDesk({ roles: { "*": "everyone", die: ["manager"] } });
  });
  afterAll(() => desk[Symbol.asyncDispose]());

  test("have the name of the server before their own, and its description without what a person cannot see", () => {
    expect(manifestOf(desk, "h_add")).toMatchObject({
      description: "Adds two numbers.",
      roles: "everyone",
      effect: "write",
      idempotent: false,
    });
  });

  test("have the server's schema without keywords of other dialects", () => {
    expect(manifestOf(desk, "h_add").inputSchema).toEqual({
      type: "object",
      properties: { a: { type: "number", description: "The first number." }, b: { type: "number" } },
      required: ["a", "b"],
    });
  });

  test("are left out with a warning if their schema cannot be one of a function", () => {
    expect(desk.names).not.toContain("h_toString");
    expect(desk.log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", fields: expect.objectContaining({ tool: "toString" }) }),
    );
  });

  test("may require one of several arguments, which is checked before the server receives them", async () => {
    expect(await desk.call("h_choice", { a: 1 })).toMatchObject({ ok: true });
    expect(await desk.call("h_choice", {})).toMatchObject({ ok: false, code: "invalid_arguments" });
  });

  test("exist only for their roles", async () => {
    expect(await desk.call("h_die", {}, { role: "support" })).toMatchObject({ ok: false, code: "unknown_function" });
  });

  test("return the result of the tool", async () => {
    expect(await desk.call("h_add", { a: 1, b: 2 })).toEqual({ ok: true, value: "3" });
  });

  test("refuse arguments that do not match before the server receives them", async () => {
    expect(await desk.call("h_add", { a: "1" })).toMatchObject({ ok: false, code: "invalid_arguments" });
  });

  test("fail with the text of a tool that reports an error", async () => {
    expect(await desk.call("h_fail", {})).toEqual({
      ok: false,
      code: "function_failed",
      message: "the disk is full",
    });
  });

  test("fail without the text of an internal error of the server", async () => {
    const outcome = await desk.call("h_protocolError", {});
    expect(outcome).toMatchObject({ ok: false, code: "function_failed" });
    expect(JSON.stringify(outcome)).not.toContain("secret");
  });

  test("fail without blame for the arguments if the result does not match the server's schema", async () => {
    expect(await desk.call("h_mismatch", {})).toMatchObject({
      ok: false,
      code: "function_failed",
      message: expect.stringMatching(/^The function failed\. Reference: /),
    });
  });

  test("fail if the result exceeds the limit", async () => {
    expect(await desk.call("h_huge", {})).toMatchObject({ ok: false, code: "result_too_large" });
  });

  test("have a note in place of a picture", async () => {
    expect(await desk.call("h_picture", {})).toEqual({ ok: true, value: "[image/png, 12 KiB left out]" });
  });

  test("forward progress", async () => {
    const { promise: progress, resolve: onProgress } = Promise.withResolvers<unknown>();
    const call = desk.call("h_progress", {}, { onProgress });

    expect(await progress).toEqual({ progress: 1, total: 2, message: "half" });
    await desk.call("h_add", { a: 1, b: 2 });
    expect(await call).toEqual({ ok: true, value: "done" });
  });

  test("run in an environment without the variables of the runtime", async () => {
    const outcome = await desk.call("h_environment", {});
    const names = (outcome as { value: string }).value.split(" ");
    expect(names).toContain("PATH");
    expect(names.filter((name) => /^(VITEST|PATCHBAY|NODE_ENV)/.test(name))).toEqual([]);
  });

  test("time out if the server does not answer", async () => {
    expect(await desk.call("h_silent", {}, { timeoutMs: 50 })).toMatchObject({ ok: false, code: "timed_out" });
  });
});

test("a tool without roles is not offered, and an entry of its own takes the place of the one for all", async () => {
  await using desk = await openDesk({ roles: { add: ["support"] } });
  expect(desk.names).toEqual(["h_add"]);
  await using all = await openDesk({ roles: { "*": ["support"], add: "everyone" } });
  expect(manifestOf(all, "h_add").roles).toBe("everyone");
  expect(manifestOf(all, "h_fail").roles).toEqual(["support"]);
});

test("an owner's decisions take the place of the server's, and its annotations count only on request", async () => {
  await using desk = await openDesk({
    trust: "annotations",
    override: {
      add: { description: "Adds.", authorize: ({ input }) => (input["a"] as number) < 10 || "too much" },
      fail: { name: "fails", effect: "destructive" },
    },
  });
  expect(manifestOf(desk, "h_add")).toMatchObject({ description: "Adds.", effect: "read" });
  expect(manifestOf(desk, "fails")).toMatchObject({ effect: "destructive" });
  expect(await desk.call("h_add", { a: 10, b: 1 })).toMatchObject({ ok: false, code: "denied", message: "too much" });
});

test("an override that defineFunction refuses stops the service", async () => {
  await expect(openDesk({ override: { add: { timeoutMs: -1 } } })).rejects.toThrow("timeoutMs must be an integer");
  expect(functionSources()).toEqual([]);
});

test.each([
  [{ name: "a b" }, "name must be 1 to 32"],
  [{ server: { command: "node", url: "http://localhost" } }, "either a command or a url"],
  [{ server: { url: "file:///etc/passwd" } }, "server.url must begin with http:// or https://"],
  [{ role: {} }, "unknown option role"],
  [{ concurrency: 0 }, "concurrency must be an integer"],
])("the options %o are refused", async (options, message) => {
  await expect(openDesk(options as never)).rejects.toThrow(message);
});

describe("the end of a server", () => {
  test("during a call makes the outcome unknown; calls fail until it runs again, and then succeed", async () => {
    await using desk = await openDesk();

    expect(await desk.call("h_die", {})).toMatchObject({ ok: false, code: "outcome_unknown" });
    expect(await desk.call("h_add", { a: 1, b: 2 })).toEqual({
      ok: false,
      code: "function_failed",
      message: 'The MCP server "h" is not running. Try again later.',
    });
    await expect.poll(() => desk.call("h_add", { a: 1, b: 2 }), { interval: 100 }).toEqual({ ok: true, value: "3" });
  });

  test("during a call that may run twice is a failure", async () => {
    await using desk = await openDesk({ override: { die: { effect: "read" } } });
    expect(await desk.call("h_die", {})).toMatchObject({ ok: false, code: "function_failed" });
  });

  test("before it began is an error with the end of its standard error", async () => {
    await expect(openDesk({ env: { HOSTILE_START: "exit" } })).rejects.toThrow(
      /The MCP server "h" did not start: .*\. Its standard error ends with:\nhostile server: ready/s,
    );
  });

  test("by close() is final", async () => {
    const desk = await openDesk();
    await desk.files.close();
    expect(await desk.call("h_add", { a: 1, b: 2 })).toMatchObject({ ok: false, code: "function_failed" });
    expect(desk.log.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect(functionSources()).toEqual([]);
  });
});

test("a tool that changes while the server runs is not called any more", async () => {
  await using desk = await openDesk();
  await desk.call("h_changeDescription", {});
  await desk.log.until("changed tools");

  expect(await desk.call("h_add", { a: 1, b: 2 })).toMatchObject({
    ok: false,
    code: "function_failed",
    message: expect.stringContaining('changed its tool "add"'),
  });
  expect(desk.names).not.toContain("h_added");
});

test("a server that cannot list its changed tools is started again", async () => {
  await using desk = await openDesk();
  await desk.call("h_breakList", {});
  await desk.log.until("connection to the MCP server ended");

  await expect
    .poll(() => desk.call("h_add", { a: 1, b: 2 }), { interval: 100, timeout: 30_000 })
    .toEqual({ ok: true, value: "3" });
});

test("calls beyond the concurrency of a server wait, and a call that ends while it waits is not sent", async () => {
  await using desk = await openDesk({ concurrency: 1 });
  const first = new AbortController();
  const silent = desk.call("h_silent", {}, { signal: first.signal });
  const second = new AbortController();
  const waiting = desk.call("h_die", {}, { signal: second.signal });
  second.abort();
  expect(await waiting).toMatchObject({ ok: false, code: "cancelled" });
  first.abort();
  expect(await silent).toMatchObject({ ok: false, code: "cancelled" });
  expect(await desk.call("h_add", { a: 1, b: 2 })).toEqual({ ok: true, value: "3" });
});
