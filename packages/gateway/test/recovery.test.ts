import { afterEach, beforeEach, expect, test } from "vitest";
import type { CallOrder } from "@patchbay/engine/ports/function-gateway";
import { orderFor, startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { joinGateway, helloFrom, type FakeRuntime } from "@patchbay/test-support/fake-runtime";
import { answer, done } from "./hand-calls.ts";

let server: GatewayServer;
const never = new AbortController().signal;

const TIMES = { reconnectMs: 30_000, stopGraceMs: 50, heartbeatMs: 50 };

beforeEach(async () => {
  server = await startGateway(TIMES);
});

afterEach(() => server[Symbol.asyncDispose]());

/** Replaces the gateway by one with other times. */
async function restart(times: Partial<typeof TIMES>): Promise<void> {
  await server[Symbol.asyncDispose]();
  server = await startGateway({ ...TIMES, ...times });
}

/** Replaces the gateway by one that waits this long for a runtime. */
const waitOnly = (reconnectMs: number) => restart({ reconnectMs });

const deliver = (order = orderFor("instance-1")) => server.gateway.deliver(order, { signal: never });
const recover = (order = orderFor("instance-1")) => server.gateway.recover(order, { signal: never });

/** A call that its runtime has received and not answered. */
async function startCall(change: Partial<CallOrder> = {}) {
  const runtime = await joinGateway(server.port);
  const order = orderFor("instance-1", change);
  const delivery = deliver(order);
  await runtime.next("call");
  return { runtime, order, delivery };
}

async function reconnect(runtime: FakeRuntime): Promise<FakeRuntime> {
  runtime.socket.terminate();
  await runtime.closed;
  return joinGateway(server.port);
}

test("a call whose runtime does not reconnect ends as unknown", async () => {
  await waitOnly(150);
  const { runtime, delivery } = await startCall();

  runtime.socket.terminate();

  expect(await delivery).toEqual({ kind: "unknown" });
});

test("another instance cannot answer the call of a disconnected one", async () => {
  await waitOnly(150);
  const { runtime, order, delivery } = await startCall();
  runtime.socket.terminate();

  const other = await joinGateway(server.port, helloFrom("instance-2"));
  answer(other, order.callId, "forged");

  expect(await delivery).toEqual({ kind: "unknown" });
  // The answer is acknowledged, so that the other runtime does not keep it.
  expect(await other.next("resultAck")).toEqual({ type: "resultAck", callId: order.callId, attempt: 1 });
});

test("a runtime of another agent with the same instance id cannot answer", async () => {
  const { runtime, order, delivery } = await startCall();
  const other = await joinGateway(server.port, helloFrom("instance-1"), { Authorization: "Bearer key-of-b" });

  answer(other, order.callId, "forged");
  other.send({ type: "callState", callId: order.callId, state: "unseen" });
  other.send({ type: "prepared", id: "x", prepared: { ok: true } });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
});

test("a reconnected runtime is queried, and a call that it never saw is undelivered", async () => {
  const { runtime, order, delivery } = await startCall();

  const back = await reconnect(runtime);

  expect(await back.next("callQuery")).toEqual({ type: "callQuery", callId: order.callId, attempt: 1 });
  back.send({ type: "callState", callId: order.callId, state: "unseen" });
  expect(await delivery).toEqual({ kind: "undelivered" });
});

test("a call that still runs after a reconnect is waited for, and asked to stop after its time", async () => {
  // The answer to the request must arrive within the grace.
  await restart({ stopGraceMs: 30_000 });
  const { runtime, order, delivery } = await startCall({ timeoutMs: 100 });

  const back = await reconnect(runtime);
  await back.next("callQuery");
  back.send({ type: "callState", callId: order.callId, state: "running" });

  expect(await back.next("cancel")).toMatchObject({ reason: "timed_out" });
  answer(back, order.callId);
  expect(await delivery).toEqual(done);
});

test("a call whose reconnected runtime does not answer the query ends as unknown", async () => {
  await waitOnly(3_000);
  const { runtime, delivery } = await startCall();

  const back = await reconnect(runtime);
  await back.next("callQuery");

  expect(await delivery).toEqual({ kind: "unknown" });
});

test("a newer connection of a runtime takes over, and the close of the old one changes nothing", async () => {
  const { runtime: old, order, delivery } = await startCall();

  const newer = await joinGateway(server.port);
  await old.closed;

  expect(server.gateway.connectionCount()).toBe(1);
  expect(await server.store.connections("agent-a")).toHaveLength(1);
  await newer.next("callQuery");
  newer.send({ type: "callState", callId: order.callId, state: "done" });
  answer(newer, order.callId);
  expect(await delivery).toEqual(done);
});

test("an old connection cannot report a call as unseen that runs on the new one", async () => {
  const { runtime: old, order, delivery } = await startCall();
  old.socket.pause();
  const newer = await joinGateway(server.port);
  await newer.next("callQuery");

  old.send({ type: "callState", callId: order.callId, state: "unseen" });
  old.socket.resume();
  await old.closed;
  newer.send({ type: "callState", callId: order.callId, state: "running" });
  answer(newer, order.callId);

  expect(await delivery).toEqual(done);
});

test("a call of an earlier process is recovered from its runtime", async () => {
  const runtime = await joinGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = recover(order);

  await runtime.next("callQuery");
  runtime.send({ type: "callState", callId: order.callId, state: "done" });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
});

test("a query of a later attempt says how long ago it could begin", async () => {
  const runtime = await joinGateway(server.port);
  const delivery = recover(orderFor("instance-1", { attempt: 2, afterMs: Date.now() - 5_000 }));

  const { callId, attempt, ageMs = 0 } = await runtime.next("callQuery");
  runtime.send({ type: "callState", callId, attempt, state: "unseen" });

  expect(ageMs).toBeGreaterThanOrEqual(5_000);
  expect(await delivery).toEqual({ kind: "undelivered" });
});

test("recovery waits for a runtime that has not reconnected", async () => {
  const order = orderFor("instance-1");
  const delivery = recover(order);

  const runtime = await joinGateway(server.port);
  await runtime.next("callQuery");
  runtime.send({ type: "callState", callId: order.callId, state: "unseen" });

  expect(await delivery).toEqual({ kind: "undelivered" });
});

test("recovery ends as unknown when the runtime does not return", async () => {
  await waitOnly(150);

  expect(await recover(orderFor("gone"))).toEqual({ kind: "unknown" });
});

test("a result is acknowledged when it is stored, not before", async () => {
  const { runtime, order, delivery } = await startCall();
  answer(runtime, order.callId);
  await delivery;
  expect(runtime.inbox.rest).toEqual([]);

  server.gateway.acknowledge(order);

  expect(await runtime.next("resultAck")).toMatchObject({ callId: order.callId });
});

test("a second claim of a run takes over the wait for its call", async () => {
  const runtime = await joinGateway(server.port);
  const order = orderFor("instance-1");
  const before = expect(deliver(order)).rejects.toThrow("a newer delivery");
  await runtime.next("call");

  const after = recover(order);
  await before;
  await runtime.next("callQuery");
  answer(runtime, order.callId);

  expect(await after).toEqual(done);
});
