import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { CallOrder } from "@patchbay/engine/ports/function-gateway";
import { orderFor } from "@patchbay/test-support/gateway-server";
import { gated, fakeService, untilAborted } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { startConnectionSystem, type ConnectionSystem } from "./connection-system.ts";

let system: ConnectionSystem;
const signal = new AbortController().signal;

afterEach(() => system[Symbol.asyncDispose]());

const deliver = (order: CallOrder) => system.server.gateway.deliver(order, { signal });

/** A system with a call that runs until the gate is opened. */
async function startRunning(options?: Parameters<typeof startConnectionSystem>[0]) {
  system = await startConnectionSystem(options);
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const { instanceId } = await system.join(service);
  const delivery = deliver(orderFor(instanceId));
  await until(() => gate.started(1), "the call");
  return { gate, service, delivery };
}

/** True while the gateway has no connection to the runtime. */
const disconnected = (): boolean => system.server.gateway.connectionCount("agent-a") === 0;

test("a call reaches the runtime and its outcome returns", async () => {
  system = await startConnectionSystem();
  const { instanceId } = await system.join(fakeService());

  expect(await deliver(orderFor(instanceId))).toEqual({
    kind: "outcome",
    outcome: { ok: true, value: { text: "hello" } },
  });
});

test("a result that was on its way when the connection was cut arrives once, and its call runs once", async () => {
  const { gate, service, delivery } = await startRunning();
  system.proxy.hold("up");
  gate.open();
  await new Promise(setImmediate);

  system.proxy.cut();

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(service.invoked).toHaveLength(1);
});

test("a result that was not acknowledged when the connection was cut is sent again and then acknowledged", async () => {
  system = await startConnectionSystem();
  const service = fakeService();
  const runtime = await system.join(service);
  const order = orderFor(runtime.instanceId);
  await deliver(order);
  system.proxy.cut();
  await until(
    () => runtime.state === "connected" && system.proxy.accepted === 2 && !disconnected(),
    "the new connection",
  );

  system.server.gateway.acknowledge(order);

  await runtime.stop(); // waits for the acknowledgement
  expect(service.invoked).toHaveLength(1);
});

test("a call survives three cuts of its connection", async () => {
  const { gate, service, delivery } = await startRunning();

  for (let cuts = 1; cuts <= 3; cuts++) {
    system.proxy.cut();
    await until(() => system.proxy.accepted > cuts && !disconnected(), "a new connection");
  }
  gate.open();

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(service.invoked).toHaveLength(1);
});

test("a call whose frame is lost is undelivered, and its next attempt runs once", async () => {
  system = await startConnectionSystem();
  const service = fakeService();
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

test("many calls over a connection that is cut repeatedly each run once and get their own result", async () => {
  system = await startConnectionSystem();
  const counts = new Map<string, number>();
  const service = fakeService({
    async answer({ callId }) {
      counts.set(callId, (counts.get(callId) ?? 0) + 1);
      return { ok: true, value: callId };
    },
  });
  const { instanceId } = await system.join(service);
  const done = new AbortController();
  const cutting = (async () => {
    while (!done.signal.aborted) {
      await until(() => !disconnected(), "a connection");
      await sleep(40);
      system.proxy.cut();
      await until(disconnected, "the cut");
    }
  })();

  const results = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      let order = orderFor(instanceId, { callId: `many-${i}` });
      await until(() => !disconnected(), "a connection");
      for (;;) {
        const delivery = await deliver(order);
        if (delivery.kind === "outcome") return delivery.outcome;
        expect(delivery.kind).toBe("undelivered");
        order = { ...order, attempt: order.attempt + 1 };
        // A closing connection still counts as open: let the event loop close it.
        await new Promise(setImmediate);
        await until(() => !disconnected(), "a connection");
      }
    }),
  );
  done.abort();
  await cutting;

  expect(results).toEqual(Array.from({ length: 200 }, (_, i) => ({ ok: true, value: `many-${i}` })));
  expect(Math.max(...counts.values())).toBe(1);
});

test("both ends notice a half-open connection and replace it, and its call continues", async () => {
  const { gate, service, delivery } = await startRunning({ heartbeatMs: 500 });

  system.proxy.hold("up", "down");
  gate.open();

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(system.proxy.accepted).toBeGreaterThan(1);
  expect(service.invoked).toHaveLength(1);
});

test("frames are read from bytes that arrive one by one", async () => {
  system = await startConnectionSystem();
  const { instanceId } = await system.join(fakeService());
  system.proxy.pieceBytes = 1;
  const value = { text: "äöü ".repeat(500) };

  const delivery = await deliver(orderFor(instanceId, { arguments: value }));

  expect(delivery).toEqual({ kind: "outcome", outcome: { ok: true, value } });
});

test("a runtime connects over a network that splits and delays from the first byte", async () => {
  system = await startConnectionSystem();
  system.proxy.pieceBytes = 1;
  system.proxy.delayMs = 5;

  const { instanceId } = await system.join(fakeService());

  expect(await deliver(orderFor(instanceId))).toMatchObject({ kind: "outcome", outcome: { ok: true } });
});

test("a cancellation reaches the handler", async () => {
  system = await startConnectionSystem();
  const { answer, started } = untilAborted();
  const reasons: unknown[] = [];
  const { instanceId } = await system.join(
    fakeService({
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
  system = await startConnectionSystem();
  const { answer } = untilAborted();
  const { instanceId } = await system.join(fakeService({ answer }));

  const delivery = await deliver(orderFor(instanceId, { timeoutMs: 30 }));

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "timed_out" } });
});

test("the call of a runtime that never reconnects ends as unknown after the wait", async () => {
  const { delivery } = await startRunning({ reconnectMs: 100 });

  system.proxy.refusing = true;
  system.proxy.cut();

  expect(await delivery).toEqual({ kind: "unknown" });
});
