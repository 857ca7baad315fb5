import { afterEach, expect, test } from "vitest";
import { gated, untilAborted } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { RunMoved } from "../../src/ports/function-gateway.ts";
import { startCluster, timesRun, type Cluster } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

const echoed = { kind: "outcome", outcome: { ok: true, value: { text: "hello" } } };

/** Two replicas; the runtime is at the second, the run at the first. */
async function startPair(
  ...runtime: Parameters<Cluster["connectRuntime"]> extends [unknown, ...infer Rest] ? Rest : never
) {
  cluster = await startCluster(["x", "y"]);
  const [x, y] = cluster.replicas as [Cluster["replicas"][0], Cluster["replicas"][0]];
  const desk = await cluster.connectRuntime(y, ...runtime);
  const run = await cluster.startRun(x);
  return { x, y, desk, run };
}

test("a call goes to a runtime at another replica as it was ordered, and its outcome comes back", async () => {
  const { x, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);

  expect(await x.gateway.deliver(order, { signal })).toEqual(echoed);

  const { timeoutMs, instanceId: _i, agentId: _a, fence: _f, ...told } = order;
  expect(desk.service.invoked).toEqual([{ ...told, timeoutMs: expect.any(Number) as number }]);
  expect(desk.service.invoked[0]!.timeoutMs).toBeLessThanOrEqual(timeoutMs);
});

test("a run is assigned a runtime at another replica, and its session is that one's function set", async () => {
  const { x, desk } = await startPair();

  const session = await x.gateway.session("agent-a", { signal });

  expect(session?.manifest).toEqual(desk.service.manifest);
  expect(await x.gateway.assign("agent-a", session!.manifestHash, "echo", { signal })).toBe(desk.instanceId);
  expect(await x.gateway.connected("agent-a")).toBe(true);
  expect(x.gateway.connectionCount()).toBe(0);
});

test("a context is prepared by a runtime at another replica", async () => {
  const { x } = await startPair();

  expect(await x.gateway.prepare("agent-a", cluster.hash, { context: { a: 1 } }, { signal })).toEqual({ ok: true });
});

test("a hook is run by a runtime at another replica", async () => {
  const { x } = await startPair();
  const answer = "x".repeat(150_000);
  const call = { hook: "beforeAnswer", answer, part: "answer", context: { long: "x".repeat(65_000) } } as const;

  expect(await x.gateway.runHook("agent-a", cluster.hash, { call, timeoutMs: 5_000 }, { signal })).toEqual({
    verdict: "replaced",
    text: `checked ${answer}`,
  });
});

test("a result is acknowledged as soon as it is stored, whoever waits for it", async () => {
  const { x, desk, run } = await startPair();
  await x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });

  await desk.connection.stop(); // waits for the acknowledgement
});

test("progress of a call at another replica comes back", async () => {
  const { x, desk, run } = await startPair({
    async answer(_, { onProgress }) {
      onProgress?.({ done: 1 });
      onProgress?.({ done: 2 });
      return { ok: true, value: 3 };
    },
  });
  const seen: unknown[] = [];
  const order = await cluster.intend(run, desk.instanceId);

  await x.gateway.deliver(order, { signal, onProgress: (data) => seen.push(data) });

  expect(seen).toEqual([{ done: 1 }, { done: 2 }]);
});

test("a cancelled run stops its handler at another replica", async () => {
  const { answer, started } = untilAborted();
  const reasons: string[] = [];
  const { x, desk, run } = await startPair({
    answer(call, options) {
      options.signal.addEventListener("abort", () => reasons.push((options.signal.reason as Error).name));
      return answer(call, options);
    },
  });
  const abort = new AbortController();
  const delivery = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal: abort.signal });
  await started;

  abort.abort(new Error("cancelled"));

  await expect(delivery).rejects.toThrow("cancelled");
  await until(() => reasons.length > 0, "the abort");
  expect(reasons).toEqual(["AbortError"]);
});

test("a call out of time stops its handler at another replica", async () => {
  const { answer } = untilAborted();
  const { x, desk, run } = await startPair({ answer });

  const delivery = await x.gateway.deliver(await cluster.intend(run, desk.instanceId, { timeoutMs: 50 }), { signal });

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "timed_out" } });
});

test("a call that waits at another replica is taken back when its run is cancelled", async () => {
  const gate = gated();
  const { x, desk, run } = await startPair({ answer: gate.answer, concurrency: 1 });
  const first = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the first call");
  const abort = new AbortController();
  const second = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal: abort.signal });
  const third = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => cluster.hub.carried.includes("reply call 3"), "three calls taken");

  abort.abort(new Error("cancelled"));
  await expect(second).rejects.toThrow("cancelled");
  await until(() => cluster.hub.carried.includes("reply cancel 1"), "the word of it");
  gate.open();

  expect([await first, await third]).toEqual([echoed, echoed]);
  expect(desk.service.invoked).toHaveLength(2);
});

test("a run that moves to another owner leaves its call running, and the new owner has the outcome", async () => {
  const gate = gated();
  const { x, y, desk, run } = await startPair({ answer: gate.answer });
  const order = await cluster.intend(run, desk.instanceId);
  const moved = new AbortController();
  const before = x.gateway.deliver(order, { signal: moved.signal });
  await until(() => gate.started(1), "the call");

  moved.abort(new RunMoved("moved"));
  await expect(before).rejects.toThrow("moved");
  await cluster.takeOver(run, y);
  const after = y.gateway.recover({ ...order, fence: run.fence }, { signal });
  gate.open();

  expect(await after).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test("a call that waited at its replica when its run moved is never run for the old owner", async () => {
  const gate = gated();
  const { x, y, desk, run } = await startPair({ answer: gate.answer, concurrency: 1 });
  const first = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the first call");
  const order = await cluster.intend(run, desk.instanceId);
  const moved = new AbortController();
  const second = x.gateway.deliver(order, { signal: moved.signal });
  await until(() => cluster.hub.carried.includes("reply call 2"), "the second call taken");
  moved.abort(new RunMoved("moved"));
  await expect(second).rejects.toThrow("moved");
  await cluster.takeOver(run, y);

  expect(await y.gateway.recover({ ...order, fence: run.fence }, { signal })).toEqual({ kind: "undelivered" });
  gate.open();

  await first;
  expect(desk.service.invoked).toHaveLength(1);
});

test("the order of a run that was lost is not taken", async () => {
  const { x, y, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);
  await cluster.takeOver(run, y);

  expect(await x.gateway.deliver(order, { signal })).toEqual({ kind: "undelivered" });
  expect(desk.service.invoked).toEqual([]);
});

test("a runtime with a free place at this replica is chosen before one elsewhere, and the least loaded of all when none is free", async () => {
  const gate = gated();
  const { x, y, desk: far, run } = await startPair({ answer: gate.answer, concurrency: 2 });
  const near = await cluster.connectRuntime(x, { answer: gate.answer, concurrency: 1 });
  const chosen: string[] = [];
  const deliveries: Promise<unknown>[] = [];
  for (let i = 0; i < 4; i++) {
    const instanceId = (await x.gateway.assign("agent-a", cluster.hash, "echo", { signal }))!;
    chosen.push(instanceId);
    deliveries.push(x.gateway.deliver(await cluster.intend(run, instanceId), { signal }));
  }
  gate.open();
  await Promise.all(deliveries);

  expect(chosen.slice(0, 3)).toEqual([near, far, far].map(({ instanceId }) => instanceId));
  expect(y.gateway.connectionCount()).toBe(1);
});

test("load that other replicas put on a runtime is heard of", async () => {
  const gate = gated();
  const { x, y, desk } = await startPair({ answer: gate.answer, concurrency: 10 });
  const other = await cluster.connectRuntime(y, { answer: gate.answer, concurrency: 10 });
  const run = await cluster.startRun(y);
  const orders = await Promise.all(Array.from({ length: 9 }, () => cluster.intend(run, desk.instanceId)));
  const busy = Promise.all(orders.map((order) => y.gateway.deliver(order, { signal })));
  await until(() => gate.started(9), "the calls");
  const published = cluster.hub.carried.length;
  await until(
    () => cluster.hub.carried.slice(published).some((message) => message.startsWith("publish runtimes")),
    "the load",
  );

  // Not heard of yet, the two would take turns.
  const assign = () => x.gateway.assign("agent-a", cluster.hash, "echo", { signal });
  await until(async () => (await assign()) === other.instanceId && (await assign()) === other.instanceId, "the load");
  expect([await assign(), await assign()]).toEqual([other.instanceId, other.instanceId]);
  gate.open();
  await busy;
});

test("a run keeps its function set when runtimes of two are connected to two replicas", async () => {
  const { x, desk: old } = await startPair();
  const newer = await cluster.connectRuntime(x, { functions: ["echo", "second"] });

  const session = await x.gateway.session("agent-a", { signal });

  expect(session?.manifest).toEqual(newer.service.manifest);
  expect(await x.gateway.assign("agent-a", cluster.hash, "echo", { signal })).toBe(old.instanceId);
  expect(await x.gateway.assign("agent-a", session!.manifestHash, "echo", { signal })).toBe(newer.instanceId);
});

test("a wait for a runtime ends when it connects to another replica", async () => {
  cluster = await startCluster(["x", "y"], { arrivalMs: 60_000 });
  const [x, y] = cluster.replicas as [Cluster["replicas"][0], Cluster["replicas"][0]];
  const gone = await cluster.connectRuntime(x);
  gone.die();
  await until(() => x.gateway.connectionCount() === 0, "the loss");
  const session = x.gateway.session("agent-a", { signal });
  const assigned = x.gateway.assign("agent-a", cluster.hash, "echo", { signal });

  const desk = await cluster.connectRuntime(y);

  expect((await session)?.manifestHash).toBe(cluster.hash);
  expect(await assigned).toBe(desk.instanceId);
});

test("a draining runtime at another replica gets nothing new, and what waited for it goes elsewhere", async () => {
  const gate = gated();
  const { x, y, desk, run } = await startPair({ answer: gate.answer, concurrency: 1 });
  const first = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the first call");
  const second = cluster.callToEnd(x, run);
  await until(() => cluster.hub.carried.includes("reply call 2"), "the second call taken");
  const other = await cluster.connectRuntime(y);

  const stopped = desk.connection.stop();

  expect(await second).toMatchObject({ ending: { ok: true } });
  gate.open();
  expect(await first).toMatchObject({ ending: { ok: true }, attempts: 1 });
  await stopped;
  expect(other.service.invoked).toHaveLength(1);
});

test("a queue at another replica has an end: what does not fit is undelivered", async () => {
  const gate = gated();
  const { x, y, desk } = await startPair({ answer: gate.answer, concurrency: 1 });
  const own = await cluster.startRun(y);
  const orders = await Promise.all(Array.from({ length: 1_001 }, () => cluster.intend(own, desk.instanceId)));
  const waiting = orders.map((order) => y.gateway.deliver(order, { signal }));
  const run = await cluster.startRun(x);

  expect(await y.gateway.deliver(await cluster.intend(own, desk.instanceId), { signal })).toEqual({
    kind: "undelivered",
  });
  expect(await x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal })).toEqual({
    kind: "undelivered",
  });
  gate.open();

  await Promise.all(waiting);
  expect(timesRun([desk]).size).toBe(1_001);
}, 20_000);
