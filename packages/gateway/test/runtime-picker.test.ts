import { afterEach, expect, test } from "vitest";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { orderFor, startGateway, systemClock, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { fakeManifest } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { hashManifest } from "../src/routing/manifest-hash.ts";

let server: GatewayServer;
const signal = new AbortController().signal;

afterEach(() => server[Symbol.asyncDispose]());

async function hashOf(): Promise<string> {
  return (await server.gateway.session("agent-a", { signal }))!.manifestHash;
}

test("an agent whose runtime was never seen has no session, without a wait", async () => {
  server = await startGateway();

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
  expect(await server.gateway.assign("agent-a", "hash", "echo", { signal })).toBeUndefined();
  expect(await server.gateway.prepare("agent-a", "hash", { context: {} }, { signal })).toBeUndefined();
});

test("an agent whose runtime was seen a minute ago has no session, without a wait", async () => {
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

test.each([
  ["a runtime of the last day until 20 s after a start", 86_399_999, 0, [20_000]],
  ["a runtime of the last day for the rest of them, at least as long as always", 86_399_999, 8_000, [15_000]],
  ["no runtime of the day before", 86_400_000, 0, []],
  ["no runtime of the last day later than 20 s after a start", 60_000, 20_000, []],
  ["a runtime that was connected at the stop, later than that", 59_999, 20_000, [15_000]],
])("after a start, a query waits for %s", async (_, agoMs, startedAgoMs, waits) => {
  const slept: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
  server = await startGateway({ clock });
  Object.assign(server.store, { agoMs, startedAgoMs });

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
  expect(slept).toEqual(waits);
});

test("with arrivalMs 0 no query waits, also after a start", async () => {
  server = await startGateway({ arrivalMs: 0 });
  Object.assign(server.store, { agoMs: 1_000, startedAgoMs: 0 });

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
});

test("an agent whose runtime was seen a moment ago is waited for, and the wait ends when it connects", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  server.store.agoMs = 100;
  const session = server.gateway.session("agent-a", { signal });
  const assigned = server.gateway.assign("agent-a", hashManifest(fakeManifest(["echo"])), "echo", { signal });

  await joinGateway(server.port, helloFrom("instance-1"));

  expect((await session)?.manifest.functions).toMatchObject([{ name: "echo" }]);
  expect(await assigned).toBe("instance-1");
});

test("while the store is unavailable, a runtime is waited for as if it had just disconnected", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  server.store.lastSeen = () => Promise.reject(new StoreUnavailable("store is down"));
  const assigned = server.gateway.assign("agent-a", hashManifest(fakeManifest(["echo"])), "echo", { signal });

  await joinGateway(server.port, helloFrom("instance-1"));

  expect(await assigned).toBe("instance-1");
});

test("the wait for a runtime ends after arrivalMs", async () => {
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

test("a session never uses runtimes of other agents", async () => {
  server = await startGateway();
  await joinGateway(server.port, helloFrom("instance-b"), { Authorization: "Bearer key-of-b" });

  expect(await server.gateway.session("agent-a", { signal })).toBeUndefined();
  expect(await server.gateway.connected("agent-a")).toBe(false);
  expect(await server.gateway.connected("agent-b")).toBe(true);
});

test("equal runtimes take turns, and a more loaded one is not picked", async () => {
  server = await startGateway();
  await joinGateway(server.port, helloFrom("one"));
  await joinGateway(server.port, helloFrom("two"));
  const hash = await hashOf();
  const assign = () => server.gateway.assign("agent-a", hash, "echo", { signal });

  expect([await assign(), await assign(), await assign(), await assign()]).toEqual(["one", "two", "one", "two"]);
  for (const instanceId of ["one", "one", "one", "two", "two"])
    server.gateway.deliver(orderFor(instanceId), { signal }).catch(() => {});

  expect(await assign()).toBe("two");
});

test("equal runtimes take turns when each call ends before the next one is assigned", async () => {
  server = await startGateway();
  const one = await joinGateway(server.port, helloFrom("one"));
  const two = await joinGateway(server.port, helloFrom("two"));
  const hash = await hashOf();
  const picked: string[] = [];
  for (let i = 0; i < 4; i++) {
    const instanceId = (await server.gateway.assign("agent-a", hash, "echo", { signal }))!;
    picked.push(instanceId);
    const delivery = server.gateway.deliver(orderFor(instanceId), { signal });
    const runtime = instanceId === "one" ? one : two;
    const { callId, attempt } = await runtime.next("call");
    runtime.send({ type: "result", callId, attempt, outcome: { ok: true, value: i } });
    await delivery;
  }

  expect(picked).toEqual(["one", "two", "one", "two"]);
});

test("the calls of a burst are spread before the first of them is delivered", async () => {
  server = await startGateway();
  await joinGateway(server.port, helloFrom("one"));
  await joinGateway(server.port, helloFrom("two"));
  const hash = await hashOf();
  const assign = () => server.gateway.assign("agent-a", hash, "echo", { signal });
  server.gateway.deliver(orderFor("one"), { signal }).catch(() => {});
  server.gateway.deliver(orderFor("one"), { signal }).catch(() => {});

  expect(await Promise.all([assign(), assign(), assign(), assign()])).toEqual(["two", "two", "one", "two"]);
});

test("load is relative to the concurrency of a runtime", async () => {
  server = await startGateway();
  await joinGateway(server.port, helloFrom("large", ["echo"], 10));
  await joinGateway(server.port, helloFrom("small", ["echo"], 1));
  const hash = await hashOf();
  const chosen: string[] = [];
  for (let i = 0; i < 6; i++) {
    const instanceId = (await server.gateway.assign("agent-a", hash, "echo", { signal }))!;
    chosen.push(instanceId);
    server.gateway.deliver(orderFor(instanceId), { signal }).catch(() => {});
  }

  expect(chosen.filter((instanceId) => instanceId === "small")).toHaveLength(1);
});

test("a draining runtime gets no further calls", async () => {
  server = await startGateway();
  await joinGateway(server.port, helloFrom("staying"));
  const leaving = await joinGateway(server.port, helloFrom("leaving", ["echo", "second"]));
  const leavingHash = await hashOf();

  leaving.send({ type: "draining" });
  await leaving.read();

  expect(await server.gateway.assign("agent-a", leavingHash, "echo", { signal })).toBe("staying");
  expect(await hashOf()).not.toBe(leavingHash);
  expect(await server.gateway.deliver(orderFor("leaving"), { signal })).toEqual({ kind: "undelivered" });
});

test("the context is prepared by a runtime with the run's function set", async () => {
  server = await startGateway();
  const runtime = await joinGateway(server.port);
  const prepared = server.gateway.prepare("agent-a", await hashOf(), { role: "agent", context: { a: 1 } }, { signal });

  const { id, role, context } = await runtime.next("prepare");
  runtime.send({ type: "prepared", id, prepared: { ok: true, subject: "s" } });

  expect({ role, context }).toEqual({ role: "agent", context: { a: 1 } });
  expect(await prepared).toEqual({ ok: true, subject: "s" });
});

test("another runtime is asked when the first one disconnects before it answers", async () => {
  server = await startGateway();
  const first = await joinGateway(server.port, helloFrom("first"));
  const prepared = server.gateway.prepare("agent-a", await hashOf(), { context: {} }, { signal });
  await first.next("prepare");
  const second = await joinGateway(server.port, helloFrom("second"));

  first.socket.terminate();

  const { id } = await second.next("prepare");
  second.send({ type: "prepared", id, prepared: { ok: true } });
  expect(await prepared).toEqual({ ok: true });
});

test("a runtime that disconnects while it prepares the context is waited for", async () => {
  server = await startGateway({ arrivalMs: 60_000, prepareMs: 60_000 });
  server.store.agoMs = 100;
  const first = await joinGateway(server.port, helloFrom("first"));
  const prepared = server.gateway.prepare("agent-a", await hashOf(), { context: {} }, { signal });
  await first.next("prepare");
  first.socket.terminate();
  await until(() => server.gateway.connectionCount() === 0, "the close");

  const back = await joinGateway(server.port, helloFrom("first"));

  const { id } = await back.next("prepare");
  back.send({ type: "prepared", id, prepared: { ok: true } });
  expect(await prepared).toEqual({ ok: true });
});

test("a connected runtime that does not answer is waited for only prepareMs", async () => {
  server = await startGateway({ arrivalMs: 60_000, prepareMs: 20 });
  await joinGateway(server.port);

  expect(await server.gateway.prepare("agent-a", await hashOf(), { context: {} }, { signal })).toBeUndefined();
});

const CALL = { hook: "beforeAnswer", answer: "Three.", part: "answer", context: {} } as const;

test("a hook runs on a runtime with the function set, and on another one when the first disconnects", async () => {
  server = await startGateway();
  const first = await joinGateway(server.port, helloFrom("first"));
  const input = { call: { ...CALL, role: "agent" }, timeoutMs: 5_000 };
  const decided = server.gateway.runHook("agent-a", await hashOf(), input, { signal });
  const asked = await first.next("hook");
  expect(asked).toEqual({ type: "hook", id: asked.id, ...input });
  const second = await joinGateway(server.port, helloFrom("second"));

  first.socket.terminate();

  const { id } = await second.next("hook");
  // An answer of another type is ignored.
  second.send({ type: "prepared", id, prepared: { ok: true } });
  second.send({ type: "hookResult", id, result: { verdict: "refused", text: "No." } });
  expect(await decided).toEqual({ verdict: "refused", text: "No." });
});

test("a hook is waited for only its time and a second", async () => {
  server = await startGateway({ arrivalMs: 60_000 });
  const runtime = await joinGateway(server.port);
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
  const runtime = await joinGateway(server.port);
  const ended = new AbortController();
  const input = { call: CALL, timeoutMs: 5_000 };
  const decided = server.gateway.runHook("agent-a", await hashOf(), input, { signal: ended.signal });
  await runtime.next("hook");

  ended.abort(new Error("cancelled"));

  await expect(decided).rejects.toThrow("cancelled");
});
