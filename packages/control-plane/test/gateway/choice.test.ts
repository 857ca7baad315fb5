import { afterEach, expect, test } from "vitest";
import { StoreUnavailable } from "../../src/ports/run-store.ts";
import { orderFor, startGateway, systemClock, type GatewayServer } from "../../../../test/support/gateway-server.ts";
import { greetGateway, helloFrom } from "../../../../test/support/hand-runtime.ts";
import { handManifest } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { hashManifest } from "../../src/gateway/manifest.ts";

let server: GatewayServer;
const signal = new AbortController().signal;

afterEach(() => server[Symbol.asyncDispose]());

async function hashOf(): Promise<string> {
  return (await server.gateway.session("agent-a", { signal }))!.manifestHash;
}

test("an agent whose runtime was never seen has no session, at once", async () => {
  server = await startGateway();

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
  expect(await server.gateway.assign("agent-a", "hash", "echo", { signal })).toBeUndefined();
  expect(await server.gateway.prepare("agent-a", "hash", { context: {} }, { signal })).toBeUndefined();
});

test("an agent whose runtime was seen long ago has no session, at once", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  server.store.agoMs = 60_000;

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
});

test("an agent whose runtime was seen less than a minute ago is waited for 15 s", async () => {
  const slept: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
  server = await startGateway({ clock });
  server.store.agoMs = 59_999;

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
  expect(slept).toEqual([15_000]);
});

test("an agent whose runtime was seen a moment ago is waited for, and the wait ends when it connects", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  server.store.agoMs = 100;
  const session = server.gateway.session("agent-a", { signal });
  const assigned = server.gateway.assign("agent-a", hashManifest(handManifest(["echo"])), "echo", { signal });

  await greetGateway(server.port, helloFrom("instance-1"));

  expect((await session)?.manifest.functions).toMatchObject([{ name: "echo" }]);
  expect(await assigned).toBe("instance-1");
});

test("while the store is out of reach a runtime is waited for as if it had just been there", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  server.store.lastSeenAgoMs = () => Promise.reject(new StoreUnavailable("out of reach"));
  const assigned = server.gateway.assign("agent-a", hashManifest(handManifest(["echo"])), "echo", { signal });

  await greetGateway(server.port, helloFrom("instance-1"));

  expect(await assigned).toBe("instance-1");
});

test("the wait for a runtime has an end", async () => {
  server = await startGateway({ arrivalMs: 20 });
  server.store.agoMs = 100;

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
});

test("the wait for a runtime ends with its signal", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  server.store.agoMs = 100;
  const abort = new AbortController();
  const session = server.gateway.session("agent-a", { signal: abort.signal });

  abort.abort(new Error("enough"));

  await expect(session).rejects.toThrow("enough");
});

test("runtimes of other agents are not there", async () => {
  server = await startGateway();
  await greetGateway(server.port, helloFrom("instance-b"), { Authorization: "Bearer key-of-b" });

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
  expect(await server.gateway.connected("agent-a")).toBe(false);
  expect(await server.gateway.connected("agent-b")).toBe(true);
});

test("equal runtimes take turns, and a loaded one is passed over", async () => {
  server = await startGateway();
  await greetGateway(server.port, helloFrom("one"));
  await greetGateway(server.port, helloFrom("two"));
  const hash = await hashOf();
  const assign = () => server.gateway.assign("agent-a", hash, "echo", { signal });

  expect([await assign(), await assign(), await assign(), await assign()]).toEqual(["one", "two", "one", "two"]);
  for (const instanceId of ["one", "one", "one", "two", "two"])
    server.gateway.deliver(orderFor(instanceId), { signal }).catch(() => {});

  expect(await assign()).toBe("two");
});

test("a burst is shared out before the first of its calls is on its way", async () => {
  server = await startGateway();
  await greetGateway(server.port, helloFrom("one"));
  await greetGateway(server.port, helloFrom("two"));
  const hash = await hashOf();
  const assign = () => server.gateway.assign("agent-a", hash, "echo", { signal });
  server.gateway.deliver(orderFor("one"), { signal }).catch(() => {});
  server.gateway.deliver(orderFor("one"), { signal }).catch(() => {});

  expect(await Promise.all([assign(), assign(), assign(), assign()])).toEqual(["two", "two", "one", "two"]);
});

test("load is measured against what a runtime can take", async () => {
  server = await startGateway();
  await greetGateway(server.port, helloFrom("large", ["echo"], 10));
  await greetGateway(server.port, helloFrom("small", ["echo"], 1));
  const hash = await hashOf();
  const chosen: string[] = [];
  for (let i = 0; i < 6; i++) {
    const instanceId = (await server.gateway.assign("agent-a", hash, "echo", { signal }))!;
    chosen.push(instanceId);
    server.gateway.deliver(orderFor(instanceId), { signal }).catch(() => {});
  }

  expect(chosen.filter((instanceId) => instanceId === "small")).toHaveLength(1);
});

test("a draining runtime gets nothing new", async () => {
  server = await startGateway();
  await greetGateway(server.port, helloFrom("staying"));
  const leaving = await greetGateway(server.port, helloFrom("leaving", ["echo", "second"]));
  const leavingHash = await hashOf();

  leaving.send({ type: "draining" });
  await leaving.read();

  expect(await server.gateway.assign("agent-a", leavingHash, "echo", { signal })).toBe("staying");
  expect(await hashOf()).not.toBe(leavingHash);
  expect(await server.gateway.deliver(orderFor("leaving"), { signal })).toEqual({ kind: "undelivered" });
});

test("the context is prepared by a runtime with the run's function set", async () => {
  server = await startGateway();
  const runtime = await greetGateway(server.port);
  const prepared = server.gateway.prepare("agent-a", await hashOf(), { role: "agent", context: { a: 1 } }, { signal });

  const { id, role, context } = await runtime.next("prepare");
  runtime.send({ type: "prepared", id, prepared: { ok: true, subject: "s" } });

  expect({ role, context }).toEqual({ role: "agent", context: { a: 1 } });
  expect(await prepared).toEqual({ ok: true, subject: "s" });
});

test("another runtime is asked when the first one is lost before it answered", async () => {
  server = await startGateway();
  const first = await greetGateway(server.port, helloFrom("first"));
  const prepared = server.gateway.prepare("agent-a", await hashOf(), { context: {} }, { signal });
  await first.next("prepare");
  const second = await greetGateway(server.port, helloFrom("second"));

  first.socket.terminate();

  const { id } = await second.next("prepare");
  second.send({ type: "prepared", id, prepared: { ok: true } });
  expect(await prepared).toEqual({ ok: true });
});

test("a runtime that is lost while it checks the context is waited for", async () => {
  server = await startGateway({ arrivalMs: 60_000, prepareMs: 60_000 });
  server.store.agoMs = 100;
  const first = await greetGateway(server.port, helloFrom("first"));
  const prepared = server.gateway.prepare("agent-a", await hashOf(), { context: {} }, { signal });
  await first.next("prepare");
  first.socket.terminate();
  await until(() => server.gateway.connectionCount() === 0, "the end of the connection");

  const back = await greetGateway(server.port, helloFrom("first"));

  const { id } = await back.next("prepare");
  back.send({ type: "prepared", id, prepared: { ok: true } });
  expect(await prepared).toEqual({ ok: true });
});

test("a connected runtime that does not answer is not waited for as long as one that is away", async () => {
  server = await startGateway({ arrivalMs: 60_000, prepareMs: 20 });
  await greetGateway(server.port);

  expect(await server.gateway.prepare("agent-a", await hashOf(), { context: {} }, { signal })).toBeUndefined();
});

const CALL = { hook: "beforeAnswer", answer: "Three.", part: "answer", context: {} } as const;

test("a hook is run by a runtime with the function set, and by another one when that is lost before it answered", async () => {
  server = await startGateway();
  const first = await greetGateway(server.port, helloFrom("first"));
  const input = { call: { ...CALL, role: "agent" }, timeoutMs: 5_000 };
  const decided = server.gateway.runHook("agent-a", await hashOf(), input, { signal });
  const asked = await first.next("hook");
  expect(asked).toEqual({ type: "hook", id: asked.id, ...input });
  const second = await greetGateway(server.port, helloFrom("second"));

  first.socket.terminate();

  const { id } = await second.next("hook");
  // Only the answer to a question of its kind counts.
  second.send({ type: "prepared", id, prepared: { ok: true } });
  second.send({ type: "hookResult", id, result: { verdict: "refused", text: "No." } });
  expect(await decided).toEqual({ verdict: "refused", text: "No." });
});

test("a hook is not waited for longer than its time and a second", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  const runtime = await greetGateway(server.port);
  const decided = server.gateway.runHook("agent-a", await hashOf(), { call: CALL, timeoutMs: 0 }, { signal });

  await runtime.next("hook");

  expect(await decided).toBeUndefined();
});

test("the hook of a service that is not connected cannot be run", async () => {
  server = await startGateway();

  expect(await server.gateway.runHook("agent-a", "hash", { call: CALL, timeoutMs: 5_000 }, { signal })).toBeUndefined();
});

test("the wait for a hook ends with the run", async () => {
  server = await startGateway();
  const runtime = await greetGateway(server.port);
  const ended = new AbortController();
  const input = { call: CALL, timeoutMs: 5_000 };
  const decided = server.gateway.runHook("agent-a", await hashOf(), input, { signal: ended.signal });
  await runtime.next("hook");

  ended.abort(new Error("cancelled"));

  await expect(decided).rejects.toThrow("cancelled");
});
