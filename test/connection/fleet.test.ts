import { afterEach, expect, test } from "vitest";
import { orderFor } from "@patchbay/test-support/gateway-server";
import { gated, fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { startConnectionSystem, type ConnectionSystem } from "./connection-system.ts";

let system: ConnectionSystem;
const signal = new AbortController().signal;

afterEach(() => system[Symbol.asyncDispose]());

/** Assigns and delivers a call as a run does: an undelivered call is assigned again. */
async function call(hash: string) {
  for (let attempt = 1; ; attempt++) {
    const instanceId = await system.server.gateway.assign("agent-a", hash, "echo", { signal });
    const order = orderFor(instanceId!, { attempt });
    const delivery = await system.server.gateway.deliver(order, { signal });
    if (delivery.kind !== "outcome") continue;
    system.server.gateway.acknowledge(order);
    return delivery.outcome;
  }
}

test("two runtimes of one agent share the load", async () => {
  system = await startConnectionSystem();
  const services = [fakeService(), fakeService()];
  for (const service of services) await system.join(service);
  const { manifestHash } = (await system.server.gateway.session("agent-a", { signal }))!;

  await Promise.all(Array.from({ length: 100 }, () => call(manifestHash)));

  const [first, second] = services.map(({ invoked }) => invoked.length);
  expect(first! + second!).toBe(100);
  expect(Math.min(first!, second!)).toBeGreaterThan(30);
});

test("a runtime that drains under load loses no call and runs none twice", async () => {
  system = await startConnectionSystem();
  const gate = gated();
  const services = [fakeService({ answer: gate.answer }), fakeService()];
  const leaving = await system.join(services[0]!, { concurrency: 4 });
  const { manifestHash } = (await system.server.gateway.session("agent-a", { signal }))!;
  const early = Array.from({ length: 30 }, () => call(manifestHash));
  await until(() => gate.started(4), "calls at the first runtime");
  await system.join(services[1]!);

  const stopped = leaving.stop();
  const late = Array.from({ length: 30 }, () => call(manifestHash));
  const outcomes = await Promise.all(late);
  gate.open();
  outcomes.push(...(await Promise.all(early)));
  await stopped;

  expect(outcomes.every(({ ok }) => ok)).toBe(true);
  expect(services[0]!.invoked).toHaveLength(4);
  expect(services[1]!.invoked).toHaveLength(56);
});

test("a control plane that crashed during a call recovers the outcome from the runtime", async () => {
  system = await startConnectionSystem();
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const { instanceId } = await system.join(service);
  const order = orderFor(instanceId);
  const lost = expect(system.server.gateway.deliver(order, { signal })).rejects.toThrow("stopping");
  await until(() => gate.started(1), "the call");
  await system.restart();
  await lost;
  gate.open();

  const delivery = await system.server.gateway.recover(order, { signal });

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(service.invoked).toHaveLength(1);
});

test("runtimes reconnect to a restarted control plane", async () => {
  system = await startConnectionSystem();
  await system.join(fakeService());
  system.proxy.refusing = true;
  await system.restart();
  system.server.store.agoMs = 1_000;
  const session = system.server.gateway.session("agent-a", { signal });

  system.proxy.refusing = false;

  expect(await session).toBeDefined();
});

test("an updated function set replaces the old one and keeps the call in progress", async () => {
  system = await startConnectionSystem();
  const gate = gated();
  const runtime = await system.join(fakeService({ answer: gate.answer }));
  const before = (await system.server.gateway.session("agent-a", { signal }))!;
  const delivery = system.server.gateway.deliver(orderFor(runtime.instanceId), { signal });
  await until(() => gate.started(1), "the call");

  runtime.update(fakeService({ functions: ["echo", "second"] }));
  await until(() => system.proxy.accepted === 2 && system.proxy.open === 1, "the new connection");
  gate.open();

  const after = (await system.server.gateway.session("agent-a", { signal }))!;
  expect(after.manifestHash).not.toBe(before.manifestHash);
  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
});
