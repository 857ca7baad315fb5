import { LIMITS } from "@patchbay/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { orderFor, startGateway, type GatewayServer } from "../../../../test/support/gateway-server.ts";
import { greetGateway, helloFrom, type HandRuntime } from "../../../../test/support/hand-runtime.ts";
import { until } from "../../../../test/support/inbox.ts";

let server: GatewayServer;
const never = new AbortController().signal;

beforeEach(async () => {
  server = await startGateway({ reconnectMs: 150, stopGraceMs: 50 });
});

afterEach(() => server[Symbol.asyncDispose]());

const deliver = (order = orderFor("instance-1")) => server.gateway.deliver(order, { signal: never });

function answer(runtime: HandRuntime, callId: string, value: unknown = "done"): void {
  runtime.send({ type: "result", callId, attempt: 1, outcome: { ok: true, value } });
}

const done = { kind: "outcome", outcome: { ok: true, value: "done" } };

test("a call is sent as ordered and its outcome comes back", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1", { role: "agent", sessionId: "s", context: { a: 1 }, attempt: 2 });
  const delivery = deliver(order);

  const { type: _, function: name, ...frame } = await runtime.next("call");
  answer(runtime, order.callId);

  const { functionName, instanceId: _instance, agentId: _agent, fence: _fence, ...sent } = order;
  expect({ name, ...frame }).toEqual({ name: functionName, ...sent });
  expect(await delivery).toEqual(done);
});

test("a call for a runtime that is not connected is undelivered at once", async () => {
  expect(await deliver()).toEqual({ kind: "undelivered" });
});

test("a runtime that is lost in mid-call is waited for as long as its longest pause and two heartbeats", async () => {
  await using own = await startGateway({ heartbeatMs: 5_000 });
  const runtime = await greetGateway(own.port);
  const delivery = own.gateway.deliver(orderFor("instance-1"), { signal: never }).catch(() => {});
  await runtime.next("call");
  using timers = vi.spyOn(globalThis, "setTimeout");

  runtime.socket.terminate();
  await until(() => own.gateway.connectionCount() === 0, "the end of the connection");

  expect(timers.mock.calls.map(([, ms]) => Math.round(ms ?? 0))).toContain(LIMITS.runtimeReturnMs + 2 * 5_000);
  await own.gateway.close();
  await delivery;
});

/** A call that its runtime has answered, to be acknowledged. */
async function answered(runtime: HandRuntime) {
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await runtime.next("call");
  answer(runtime, order.callId);
  await delivery;
  return { acknowledge: () => server.gateway.acknowledge(order), callId: order.callId };
}

test("acknowledgements arrive without a further frame", async () => {
  const runtime = await greetGateway(server.port);
  const one = await answered(runtime);
  const two = await answered(runtime);

  one.acknowledge();
  two.acknowledge();

  expect(await runtime.next("resultAck")).toEqual({ type: "resultAck", callId: one.callId });
  expect(await runtime.next("resultAck")).toEqual({ type: "resultAck", callId: two.callId });
});

test("an acknowledgement goes before the next frame, and before the link is closed", async () => {
  const runtime = await greetGateway(server.port);
  const one = await answered(runtime);
  const two = await answered(runtime);

  one.acknowledge();
  const next = orderFor("instance-1");
  const delivery = deliver(next).catch(() => "closed");
  await runtime.next("call");
  expect(runtime.inbox.rest).toEqual([{ type: "resultAck", callId: one.callId }]);
  two.acknowledge();
  await server.gateway.close();

  expect(await delivery).toBe("closed");
  await runtime.closed;
  expect(runtime.inbox.rest).toContainEqual({ type: "resultAck", callId: two.callId });
});

test("calls above a runtime's concurrency wait, and are undelivered when the link dies before they were sent", async () => {
  const runtime = await greetGateway(server.port, helloFrom("instance-1", ["echo"], 1));
  const first = orderFor("instance-1");
  const second = orderFor("instance-1");
  const third = orderFor("instance-1");
  const deliveries = [first, second, third].map(deliver);
  expect(await runtime.next("call")).toMatchObject({ callId: first.callId });
  answer(runtime, first.callId);
  expect(await runtime.next("call")).toMatchObject({ callId: second.callId });

  runtime.socket.terminate();

  expect(await Promise.all(deliveries)).toEqual([done, { kind: "unknown" }, { kind: "undelivered" }]);
});

test("calls that still wait for a draining runtime are undelivered, those it holds are waited for", async () => {
  const runtime = await greetGateway(server.port, helloFrom("instance-1", ["echo"], 1));
  const held = orderFor("instance-1");
  const deliveries = [held, orderFor("instance-1")].map(deliver);
  await runtime.next("call");

  runtime.send({ type: "draining" });
  answer(runtime, held.callId);

  expect(await Promise.all(deliveries)).toEqual([done, { kind: "undelivered" }]);
});

test("progress reaches whoever waits, at most 200 times a second, and a flood loses no result", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1");
  const seen: unknown[] = [];
  const delivery = server.gateway.deliver(order, { signal: never, onProgress: (data) => seen.push(data) });
  await runtime.next("call");

  for (let i = 0; i < 2_000; i++) runtime.send({ type: "progress", callId: order.callId, data: i });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
  expect(seen.slice(0, 3)).toEqual([0, 1, 2]);
  expect(seen.length).toBeGreaterThanOrEqual(200);
  expect(seen.length).toBeLessThan(2_000);
});

test("a call out of time is told to stop, and its outcome is still taken when it comes soon", async () => {
  const runtime = await greetGateway(server.port);
  const order = orderFor("instance-1", { timeoutMs: 20 });
  const delivery = deliver(order);

  expect(await runtime.next("cancel")).toMatchObject({ callId: order.callId, reason: "timed_out" });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
});

test("a call that does not answer when told to stop has timed out", async () => {
  const runtime = await greetGateway(server.port);

  const delivery = deliver(orderFor("instance-1", { timeoutMs: 20 }));

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "timed_out" } });
  expect(runtime.socket.readyState).toBe(runtime.socket.OPEN);
});

test("an aborted call rejects at once and its handler is told to stop", async () => {
  const runtime = await greetGateway(server.port);
  const abort = new AbortController();
  const order = orderFor("instance-1");
  const delivery = server.gateway.deliver(order, { signal: abort.signal });
  await runtime.next("call");

  abort.abort(new Error("run cancelled"));

  await expect(delivery).rejects.toThrow("run cancelled");
  expect(await runtime.next("cancel")).toEqual({ type: "cancel", callId: order.callId, reason: "cancelled" });
});

test("a call aborted while it waits is never sent", async () => {
  const runtime = await greetGateway(server.port, helloFrom("instance-1", ["echo"], 1));
  const [first, last] = [orderFor("instance-1"), orderFor("instance-1")];
  const abort = new AbortController();
  const deliveries = [deliver(first)];
  const aborted = server.gateway.deliver(orderFor("instance-1"), { signal: abort.signal });
  deliveries.push(deliver(last));

  abort.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  await runtime.next("call");
  answer(runtime, first.callId);

  expect(await runtime.next("call")).toMatchObject({ callId: last.callId });
  answer(runtime, last.callId);
  expect(await Promise.all(deliveries)).toEqual([done, done]);
});

test("arguments too large for a frame fail the call without being sent", async () => {
  const runtime = await greetGateway(server.port);

  const delivery = await deliver(orderFor("instance-1", { arguments: "x".repeat(LIMITS.frameBytes) }));

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "invalid_arguments" } });
  expect(runtime.inbox.rest).toEqual([]);
});

test("calls larger together than what may be unsent at a time all arrive", async () => {
  const runtime = await greetGateway(server.port, helloFrom("instance-1", ["echo"], 16));
  runtime.socket.pause();
  const large = "x".repeat(900_000);
  const deliveries = Array.from({ length: 12 }, () => deliver(orderFor("instance-1", { arguments: large })));
  runtime.socket.resume();

  for (let i = 0; i < 12; i++) answer(runtime, (await runtime.next("call")).callId);

  expect(await Promise.all(deliveries)).toEqual(deliveries.map(() => done));
});

test("a gateway that closes rejects what is waited for, so that another process can ask", async () => {
  const runtime = await greetGateway(server.port);
  const delivery = deliver();
  await runtime.next("call");
  const rejected = expect(delivery).rejects.toMatchObject({ code: "unavailable" });

  await server.gateway.close();

  await rejected;
  await expect(deliver()).rejects.toMatchObject({ code: "unavailable" });
  await expect(server.gateway.session("agent-a", { signal: never })).rejects.toMatchObject({ code: "unavailable" });
  await until(() => server.gateway.connectionCount() === 0, "no link");
});
