import { LIMITS } from "@patchbay/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { orderFor, startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { joinGateway, helloFrom, type FakeRuntime } from "@patchbay/test-support/fake-runtime";
import { until } from "@patchbay/test-support/inbox";
import { answer, done } from "./hand-calls.ts";

let server: GatewayServer;
const never = new AbortController().signal;

beforeEach(async () => {
  server = await startGateway({ reconnectMs: 150, stopGraceMs: 50 });
});

afterEach(() => server[Symbol.asyncDispose]());

const deliver = (order = orderFor("instance-1")) => server.gateway.deliver(order, { signal: never });

test("a call frame has the fields of its order, and the outcome of the runtime settles the delivery", async () => {
  const runtime = await joinGateway(server.port);
  const order = orderFor("instance-1", { role: "agent", sessionId: "s", context: { a: 1 }, attempt: 2 });
  const delivery = deliver(order);

  const { type: _, function: name, ...frame } = await runtime.next("call");
  answer(runtime, order.callId);

  const { functionName, instanceId: _instance, agentId: _agent, fence: _fence, ...sent } = order;
  expect({ name, ...frame }).toEqual({ name: functionName, ...sent });
  expect(await delivery).toEqual(done);
});

test("a call to a runtime that is not connected is undelivered immediately", async () => {
  expect(await deliver()).toEqual({ kind: "undelivered" });
});

test("a runtime that disconnects during a call is waited for as long as its longest pause and two heartbeats", async () => {
  await using own = await startGateway({ heartbeatMs: 5_000 });
  const runtime = await joinGateway(own.port);
  const delivery = own.gateway.deliver(orderFor("instance-1"), { signal: never }).catch(() => {});
  await runtime.next("call");
  using timers = vi.spyOn(globalThis, "setTimeout");

  runtime.socket.terminate();
  await until(() => own.gateway.connectionCount() === 0, "the end of the connection");

  expect(timers.mock.calls.map(([, ms]) => Math.round(ms ?? 0))).toContain(LIMITS.runtimeReturnMs + 2 * 5_000);
  await own.gateway.close();
  await delivery;
});

/** A call that its runtime has answered and that is not acknowledged. */
async function answered(runtime: FakeRuntime) {
  const order = orderFor("instance-1");
  const delivery = deliver(order);
  await runtime.next("call");
  answer(runtime, order.callId);
  await delivery;
  return { acknowledge: () => server.gateway.acknowledge(order), callId: order.callId };
}

test("acknowledgements are sent without a further frame", async () => {
  const runtime = await joinGateway(server.port);
  const one = await answered(runtime);
  const two = await answered(runtime);

  one.acknowledge();
  two.acknowledge();

  expect(await runtime.next("resultAck")).toEqual({ type: "resultAck", callId: one.callId, attempt: 1 });
  expect(await runtime.next("resultAck")).toEqual({ type: "resultAck", callId: two.callId, attempt: 1 });
});

test("an acknowledgement is sent before the next frame, and before the connection closes", async () => {
  const runtime = await joinGateway(server.port);
  const one = await answered(runtime);
  const two = await answered(runtime);

  one.acknowledge();
  const next = orderFor("instance-1");
  const delivery = deliver(next).catch(() => "closed");
  await runtime.next("call");
  expect(runtime.inbox.rest).toEqual([{ type: "resultAck", callId: one.callId, attempt: 1 }]);
  two.acknowledge();
  await server.gateway.close();

  expect(await delivery).toBe("closed");
  await runtime.closed;
  expect(runtime.inbox.rest).toContainEqual({ type: "resultAck", callId: two.callId, attempt: 1 });
});

test("calls above a runtime's concurrency are queued, and are undelivered when the connection closes before they are sent", async () => {
  const runtime = await joinGateway(server.port, helloFrom("instance-1", ["echo"], 1));
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

test("queued calls of a draining runtime are undelivered, and running ones are waited for", async () => {
  const runtime = await joinGateway(server.port, helloFrom("instance-1", ["echo"], 1));
  const running = orderFor("instance-1");
  const deliveries = [running, orderFor("instance-1")].map(deliver);
  await runtime.next("call");

  runtime.send({ type: "draining" });
  answer(runtime, running.callId);

  expect(await Promise.all(deliveries)).toEqual([done, { kind: "undelivered" }]);
});

test("progress reaches the run at most 200 times a second, and a flood of it loses no result", async () => {
  const runtime = await joinGateway(server.port);
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

test("a call that exceeds its time is asked to stop, and an outcome within the grace period counts", async () => {
  await using own = await startGateway({ stopGraceMs: 30_000 });
  const runtime = await joinGateway(own.port);
  const order = orderFor("instance-1", { timeoutMs: 20 });
  const delivery = own.gateway.deliver(order, { signal: never });

  expect(await runtime.next("cancel")).toMatchObject({ callId: order.callId, reason: "timed_out" });
  answer(runtime, order.callId);

  expect(await delivery).toEqual(done);
});

test("a call that does not answer when asked to stop ends as timed_out", async () => {
  const runtime = await joinGateway(server.port);

  const delivery = deliver(orderFor("instance-1", { timeoutMs: 20 }));

  const outcome = { ok: false, code: "timed_out" };
  expect(await delivery).toMatchObject({ kind: "outcome", outcome, unanswered: true });
  expect(runtime.socket.readyState).toBe(runtime.socket.OPEN);
});

test("an aborted call rejects immediately and its handler is asked to stop", async () => {
  const runtime = await joinGateway(server.port);
  const abort = new AbortController();
  const order = orderFor("instance-1");
  const delivery = server.gateway.deliver(order, { signal: abort.signal });
  await runtime.next("call");

  abort.abort(new Error("run cancelled"));

  await expect(delivery).rejects.toThrow("run cancelled");
  expect(await runtime.next("cancel")).toEqual({ type: "cancel", callId: order.callId, reason: "cancelled" });
});

test("a call that is aborted while queued is never sent", async () => {
  const runtime = await joinGateway(server.port, helloFrom("instance-1", ["echo"], 1));
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

test("arguments too large for a frame fail the call before it is sent", async () => {
  const runtime = await joinGateway(server.port);

  const delivery = await deliver(orderFor("instance-1", { arguments: "x".repeat(LIMITS.frameBytes) }));

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "invalid_arguments" } });
  expect(runtime.inbox.rest).toEqual([]);
});

test("calls that together exceed the limit of unsent bytes all arrive", async () => {
  const runtime = await joinGateway(server.port, helloFrom("instance-1", ["echo"], 16));
  runtime.socket.pause();
  const large = "x".repeat(900_000);
  const deliveries = Array.from({ length: 12 }, () => deliver(orderFor("instance-1", { arguments: large })));
  runtime.socket.resume();

  for (let i = 0; i < 12; i++) answer(runtime, (await runtime.next("call")).callId);

  expect(await Promise.all(deliveries)).toEqual(deliveries.map(() => done));
});

test("a closing gateway rejects pending calls as unavailable, so that another replica recovers them", async () => {
  const runtime = await joinGateway(server.port);
  const delivery = deliver();
  await runtime.next("call");
  const rejected = expect(delivery).rejects.toMatchObject({ code: "unavailable" });

  await server.gateway.close();

  await rejected;
  await expect(deliver()).rejects.toMatchObject({ code: "unavailable" });
  await expect(server.gateway.session("agent-a", { signal: never })).rejects.toMatchObject({ code: "unavailable" });
  await until(() => server.gateway.connectionCount() === 0, "no connection");
});
