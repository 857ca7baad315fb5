import { afterEach, expect, test } from "vitest";
import { gated } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { RunMoved } from "../../src/ports/function-gateway.ts";
import { startCluster, type Cluster } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

/** Two replicas; the runtime is at the second, the run at the first. */
async function startPair(change: { concurrency?: number } = {}) {
  cluster = await startCluster(["x", "y"]);
  const [x, y] = cluster.replicas as [Cluster["replicas"][0], Cluster["replicas"][0]];
  const gate = gated();
  const desk = await cluster.connectRuntime(y, { answer: gate.answer, ...change });
  return { x, y, gate, desk, run: await cluster.startRun(x) };
}

test("a call tells when its frame left, whichever replica sent it and however long it waited there", async () => {
  const { x, y, gate, desk, run } = await startPair({ concurrency: 1 });
  const times = new Map<string, number[]>();
  const deliver = async (name: string, from: typeof x, owned: typeof run) => {
    times.set(name, []);
    const onSent = (at: number) => times.get(name)!.push(at);
    return from.gateway.deliver(await cluster.intend(owned, desk.instanceId), { signal, onSent });
  };
  const began = Date.now();
  const first = deliver("at once", x, run);
  await until(() => gate.started(1), "the first call");
  const second = deliver("after it", x, run);
  await until(() => cluster.hub.carried.includes("reply call 2"), "the second call taken");
  const third = deliver("from its own replica", y, await cluster.startRun(y));
  await until(() => times.get("at once")!.length > 0, "the word of the first");
  await until(() => Date.now() > began + 5, "time to pass");
  expect([times.get("after it"), times.get("from its own replica")]).toEqual([[], []]);
  const opened = Date.now();
  gate.open();
  await Promise.all([first, second, third]);
  const ended = Date.now();

  const [atOnce, afterIt, own] = [...times.values()].map((told) => {
    expect(told).toHaveLength(1);
    return told[0]!;
  });
  expect(atOnce).toBeGreaterThanOrEqual(began);
  expect(atOnce).toBeLessThanOrEqual(opened);
  for (const at of [afterIt, own]) {
    expect(at).toBeGreaterThanOrEqual(opened);
    expect(at).toBeLessThanOrEqual(ended);
  }
});

test("a call whose run moved to the replica that sent it keeps the time at which that was", async () => {
  const { x, y, gate, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);
  const moved = new AbortController();
  const told: number[][] = [[], []];
  const before = x.gateway.deliver(order, { signal: moved.signal, onSent: (at) => told[0]!.push(at) });
  await until(() => told[0]!.length > 0, "the word that it was sent");
  moved.abort(new RunMoved("moved"));
  await expect(before).rejects.toThrow("moved");
  await cluster.takeOver(run, y);
  const after = y.gateway.recover({ ...order, fence: run.fence }, { signal, onSent: (at) => told[1]!.push(at) });
  await until(() => Date.now() > told[0]![0]! + 5, "time to pass");
  gate.open();
  await after;

  expect(told[1]).toEqual(told[0]);
});

test("an answer that comes while nobody works on its run is stored with the time at which the call was sent", async () => {
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
