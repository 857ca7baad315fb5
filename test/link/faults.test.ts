import { afterEach, expect, test } from "vitest";
import type { CallOrder } from "../../packages/control-plane/src/ports/function-gateway.ts";
import { orderFor } from "../support/gateway-server.ts";
import { gated, handService, untilAborted } from "../support/hand-service.ts";
import { until } from "../support/inbox.ts";
import { startLinkSystem, type LinkSystem } from "./link-system.ts";

let system: LinkSystem;
const signal = new AbortController().signal;

afterEach(() => system[Symbol.asyncDispose]());

const deliver = (order: CallOrder) => system.server.gateway.deliver(order, { signal });

/** True when the gateway lost its link to the runtime. */
const apart = (): boolean => system.server.gateway.connectionCount("agent-a") === 0;

test("a call crosses the link and comes back", async () => {
  system = await startLinkSystem();
  const { instanceId } = await system.join(handService());

  expect(await deliver(orderFor(instanceId))).toEqual({
    kind: "outcome",
    outcome: { ok: true, value: { text: "hello" } },
  });
});

test("a link cut after the function ran, before its result arrived, delivers it once and runs nothing twice", async () => {
  system = await startLinkSystem();
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const { instanceId } = await system.join(service);
  const delivery = deliver(orderFor(instanceId));
  await until(() => gate.started(1), "the call");
  system.proxy.hold("up");
  gate.open();
  await new Promise(setImmediate);

  system.proxy.cut();

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(service.invoked).toHaveLength(1);
});

test("a result that was taken but not acknowledged when the link was cut is sent again and then acknowledged", async () => {
  system = await startLinkSystem();
  const service = handService();
  const runtime = await system.join(service);
  const order = orderFor(runtime.instanceId);
  await deliver(order);
  system.proxy.cut();
  await until(() => runtime.state === "connected" && system.proxy.accepted === 2 && !apart(), "the new link");

  system.server.gateway.acknowledge(order);

  await runtime.stop(); // waits for the acknowledgement
  expect(service.invoked).toHaveLength(1);
});

test("a link cut in mid-call is waited for and the call goes on", async () => {
  system = await startLinkSystem();
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const { instanceId } = await system.join(service);
  const delivery = deliver(orderFor(instanceId));
  await until(() => gate.started(1), "the call");

  for (let cuts = 1; cuts <= 3; cuts++) {
    system.proxy.cut();
    await until(() => system.proxy.accepted > cuts && !apart(), "a new link");
  }
  gate.open();

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(service.invoked).toHaveLength(1);
});

test("a call frame lost on the way is undelivered, and runs once when it is ordered again", async () => {
  system = await startLinkSystem();
  const service = handService();
  const { instanceId } = await system.join(service);
  system.proxy.hold("down");
  const order = orderFor(instanceId);
  const delivery = deliver(order);
  await new Promise(setImmediate);

  system.proxy.cut();

  expect(await delivery).toEqual({ kind: "undelivered" });
  expect(await deliver({ ...order, attempt: 2 })).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(service.invoked).toMatchObject([{ callId: order.callId, attempt: 2 }]);
});

test("many calls through a link that is cut again and again each run once and each have their result", async () => {
  system = await startLinkSystem();
  const counts = new Map<string, number>();
  const service = handService({
    async answer({ callId }) {
      counts.set(callId, (counts.get(callId) ?? 0) + 1);
      return { ok: true, value: callId };
    },
  });
  const { instanceId } = await system.join(service);
  const cutter = setInterval(() => system.proxy.cut(), 40);

  const results = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      let order = orderFor(instanceId, { callId: `many-${i}` });
      await until(() => !apart(), "a link");
      for (;;) {
        const delivery = await deliver(order);
        if (delivery.kind === "outcome") return delivery.outcome;
        expect(delivery.kind).toBe("undelivered");
        order = { ...order, attempt: order.attempt + 1 };
        // A link that is closing still counts: the event loop must get to its end.
        await new Promise(setImmediate);
        await until(() => !apart(), "a link");
      }
    }),
  );
  clearInterval(cutter);

  expect(results).toEqual(Array.from({ length: 200 }, (_, i) => ({ ok: true, value: `many-${i}` })));
  expect(Math.max(...counts.values())).toBe(1);
});

test("a half-open link is noticed by both ends and replaced, and the call on it goes on", async () => {
  system = await startLinkSystem({ heartbeatMs: 30 });
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const runtime = await system.join(service);
  const delivery = deliver(orderFor(runtime.instanceId));
  await until(() => gate.started(1), "the call");

  system.proxy.hold("up", "down");
  gate.open();

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(system.proxy.accepted).toBeGreaterThan(1);
  expect(service.invoked).toHaveLength(1);
});

test("bytes that arrive one by one make the same frames", async () => {
  system = await startLinkSystem();
  const { instanceId } = await system.join(handService());
  system.proxy.pieceBytes = 1;
  const value = { text: "äöü ".repeat(500) };

  const delivery = await deliver(orderFor(instanceId, { arguments: value }));

  expect(delivery).toEqual({ kind: "outcome", outcome: { ok: true, value } });
});

test("a runtime joins over a network that splits and delays from the first byte", async () => {
  system = await startLinkSystem();
  system.proxy.pieceBytes = 1;
  system.proxy.delayMs = 5;

  const { instanceId } = await system.join(handService());

  expect(await deliver(orderFor(instanceId))).toMatchObject({ kind: "outcome", outcome: { ok: true } });
});

test("cancelling reaches the handler", async () => {
  system = await startLinkSystem();
  const { answer, started } = untilAborted();
  const reasons: unknown[] = [];
  const { instanceId } = await system.join(
    handService({
      answer(invocation, options) {
        options.signal.addEventListener("abort", () => reasons.push((options.signal.reason as Error).name));
        return answer(invocation, options);
      },
    }),
  );
  const abort = new AbortController();
  const delivery = system.server.gateway.deliver(orderFor(instanceId), { signal: abort.signal });
  await started;

  abort.abort(new Error("run cancelled"));

  await expect(delivery).rejects.toThrow("run cancelled");
  await until(() => reasons.length > 0, "the handler's abort");
  expect(reasons).toEqual(["AbortError"]);
});

test("a call's deadline reaches the handler", async () => {
  system = await startLinkSystem();
  const { answer } = untilAborted();
  const { instanceId } = await system.join(handService({ answer }));

  const delivery = await deliver(orderFor(instanceId, { timeoutMs: 30 }));

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "timed_out" } });
});

test("a runtime that is gone for good leaves the outcome unknown after the wait", async () => {
  system = await startLinkSystem({ reconnectMs: 100 });
  const gate = gated();
  const runtime = await system.join(handService({ answer: gate.answer }));
  const delivery = deliver(orderFor(runtime.instanceId));
  await until(() => gate.started(1), "the call");

  system.proxy.refusing = true;
  system.proxy.cut();

  expect(await delivery).toEqual({ kind: "unknown" });
});
