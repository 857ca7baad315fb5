import { afterEach, beforeEach, expect, test } from "vitest";
import { orderFor, startGateway, type GatewayServer } from "../../../../test/support/gateway-server.ts";
import { greetGateway, helloFrom, type HandRuntime } from "../../../../test/support/hand-runtime.ts";

let server: GatewayServer;
const never = new AbortController().signal;

beforeEach(async () => {
  server = await startGateway({ reconnectMs: 150, stopGraceMs: 50, heartbeatMs: 50 });
});

afterEach(() => server[Symbol.asyncDispose]());

const deliver = (order = orderFor("instance-1")) => server.gateway.deliver(order, { signal: never });
const recover = (order = orderFor("instance-1")) => server.gateway.recover(order, { signal: never });

function answer(runtime: HandRuntime, callId: string, value: unknown = "done"): void {
  runtime.send({ type: "result", callId, attempt: 1, outcome: { ok: true, value } });
}

async function reconnect(runtime: HandRuntime): Promise<HandRuntime> {
  runtime.socket.terminate();
  await runtime.closed;
  return greetGateway(server.port);
}

const done = { kind: "outcome", outcome: { ok: true, value: "done" } };

test("a link lost in mid-call and not found again leaves the outcome unknown", async () => {
  const runtime = await greetGateway(server.port);
  const delivery = deliver();
  await runtime.next("call");

  runtime.socket.terminate();

  expect(await delivery).toEqual({ kind: "unknown" });
});

test("another instance does not answer for a lost one", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await runtime.next("call");
  runtime.socket.terminate();

  const other = await greetGateway(server.port, helloFrom("instance-2"));
  answer(other, order.callId, "forged");

  expect(await delivery).toEqual({ kind: "unknown" });
  // Told to forget an answer that nobody takes.
  expect(other.inbox.rest).toEqual([{ type: "resultAck", callId: order.callId }]);
});

test("a runtime of another agent with the same instance id cannot answer", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await runtime.next("call");
  const other = await greetGateway(server.port, helloFrom("instance-1"), { Authorization: "Bearer key-of-b" });

  answer(other, order.callId, "forged");
  other.send({ type: "callState", callId: order.callId, state: "unseen" });
  other.send({ type: "prepared", id: "x", prepared: { ok: true } });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
});

test("a runtime that is back is asked, and a call it never saw is undelivered", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await runtime.next("call");

  const back = await reconnect(runtime);

  expect(await back.next("callQuery")).toEqual({ type: "callQuery", callId: order.callId, attempt: 1 });
  back.send({ type: "callState", callId: order.callId, state: "unseen" });
  expect(await delivery).toEqual({ kind: "undelivered" });
});

test("a call that still runs after a reconnect is waited for, and told to stop when its time is over", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1", { timeoutMs: 100 });
  const delivery = deliver(order);
  await runtime.next("call");

  const back = await reconnect(runtime);
  await back.next("callQuery");
  back.send({ type: "callState", callId: order.callId, state: "running" });

  expect(await back.next("cancel")).toMatchObject({ reason: "timed_out" });
  answer(back, order.callId);
  expect(await delivery).toEqual(done);
});

test("a runtime that is back but does not answer leaves the outcome unknown", async () => {
  const runtime = await greetGateway(server.port);
  const delivery = deliver();
  await runtime.next("call");

  const back = await reconnect(runtime);
  await back.next("callQuery");

  expect(await delivery).toEqual({ kind: "unknown" });
});

test("a newer link of a runtime takes over; the old one's end changes nothing", async () => {
  const old = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await old.next("call");

  const newer = await greetGateway(server.port);
  await old.closed;

  expect(server.gateway.connectionCount()).toBe(1);
  expect(await server.store.links("agent-a")).toHaveLength(1);
  await newer.next("callQuery");
  newer.send({ type: "callState", callId: order.callId, state: "done" });
  answer(newer, order.callId);
  expect(await delivery).toEqual(done);
});

test("an old link cannot disown a call that the new one runs", async () => {
  const old = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await old.next("call");
  old.socket.pause();
  const newer = await greetGateway(server.port);
  await newer.next("callQuery");

  old.send({ type: "callState", callId: order.callId, state: "unseen" });
  old.socket.resume();
  await old.closed;
  newer.send({ type: "callState", callId: order.callId, state: "running" });
  answer(newer, order.callId);

  expect(await delivery).toEqual(done);
});

test("a call of an earlier process is recovered from its runtime", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = recover(order);

  await runtime.next("callQuery");
  runtime.send({ type: "callState", callId: order.callId, state: "done" });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
});

test("recovery waits for a runtime that is not back yet", async () => {
  const order = orderFor("instance-1");
  const delivery = recover(order);

  const runtime = await greetGateway(server.port);
  await runtime.next("callQuery");
  runtime.send({ type: "callState", callId: order.callId, state: "unseen" });

  expect(await delivery).toEqual({ kind: "undelivered" });
  expect(await recover(orderFor("gone"))).toEqual({ kind: "unknown" });
});

test("a result is acknowledged when it is stored, not before", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await runtime.next("call");
  answer(runtime, order.callId);
  await delivery;
  expect(runtime.inbox.rest).toEqual([]);

  server.gateway.acknowledge(order);

  expect(await runtime.next("resultAck")).toMatchObject({ callId: order.callId });
});

test("a run claimed anew takes over the wait for its call", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const before = expect(deliver(order)).rejects.toThrow("waited for anew");
  await runtime.next("call");

  const after = recover(order);
  await before;
  await runtime.next("callQuery");
  answer(runtime, order.callId);

  expect(await after).toEqual(done);
});
