import { afterEach, expect, test } from "vitest";
import { gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { RunMoved } from "@patchbay/engine/ports/function-gateway";
import { startCluster, type Cluster, type RuntimeChange } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

/** Two replicas: x has the run, y has the runtime. */
async function startPair(change: RuntimeChange = {}) {
  cluster = await startCluster(["x", "y"]);
  const gate = gated();
  return { gate, ...(await cluster.place({ answer: gate.answer, ...change })) };
}

test("a call reports when its frame was sent, by either replica, immediately or from the queue", async () => {
  const { x, y, gate, desk, run } = await startPair({ concurrency: 1 });
  const times = new Map<string, number[]>();
  const deliver = async (name: string, from: typeof x, owned: typeof run) => {
    times.set(name, []);
    const onSent = (at: number) => times.get(name)!.push(at);
    return from.gateway.deliver(await cluster.intend(owned, desk.instanceId), { signal, onSent });
  };
  const began = Date.now();
  const first = deliver("immediately", x, run);
  await until(() => gate.started(1), "the first call");
  const second = deliver("from the queue", x, run);
  await until(() => cluster.hub.carried.includes("reply call 2"), "the second call taken");
  const third = deliver("from y", y, await cluster.startRun(y));
  await until(() => times.get("immediately")!.length > 0, "the time of the first");
  await until(() => Date.now() > began + 5, "time to pass");
  expect([times.get("from the queue"), times.get("from y")]).toEqual([[], []]);
  const opened = Date.now();
  gate.open();
  await Promise.all([first, second, third]);
  const ended = Date.now();

  const [immediate, queued, own] = [...times.values()].map((reported) => {
    expect(reported).toHaveLength(1);
    return reported[0]!;
  });
  expect(immediate).toBeGreaterThanOrEqual(began);
  expect(immediate).toBeLessThanOrEqual(opened);
  for (const at of [queued, own]) {
    expect(at).toBeGreaterThanOrEqual(opened);
    expect(at).toBeLessThanOrEqual(ended);
  }
});

test("a call whose run moves to the replica that sent it keeps the time of sending", async () => {
  const { x, y, gate, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);
  const moved = new AbortController();
  const reported: number[][] = [[], []];
  const before = x.gateway.deliver(order, { signal: moved.signal, onSent: (at) => reported[0]!.push(at) });
  await until(() => reported[0]!.length > 0, "the time");
  moved.abort(new RunMoved("moved"));
  await expect(before).rejects.toThrow("moved");
  await cluster.takeOver(run, y);
  const after = y.gateway.recover({ ...order, fence: run.fence }, { signal, onSent: (at) => reported[1]!.push(at) });
  await until(() => Date.now() > reported[0]![0]! + 5, "time to pass");
  gate.open();
  await after;

  expect(reported[1]).toEqual(reported[0]);
});

test("a result that arrives while no replica works on its run is stored with the time of sending", async () => {
  const { x, gate, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);
  const began = Date.now();
  const delivery = x.gateway.deliver(order, { signal });
  await until(() => gate.started(1), "the call");
  const started = Date.now();
  x.kill();
  await expect(delivery).rejects.toThrow();
  await until(() => Date.now() > started + 5, "time to pass");
  gate.open();
  await until(async () => (await cluster.store.calls.arrivals([order.callId])).length > 0, "the answer");

  const [call] = (await cluster.store.runs.checkpoint(run.runId)).calls;
  expect(call?.sentAt).toBeGreaterThanOrEqual(began);
  expect(call?.sentAt).toBeLessThanOrEqual(started);
});
