import { afterEach, expect, test } from "vitest";
import { gated, untilAborted } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { RunMoved } from "@patchbay/engine/ports/function-gateway";
import { echoed, startCluster, timesRun, type Cluster, type Replica, type RuntimeChange } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

/** Two replicas: x has the run, y has the runtime. */
async function startPair(change?: RuntimeChange) {
  cluster = await startCluster(["x", "y"]);
  return cluster.place(change);
}

test("a call reaches a runtime at another replica with the fields of its order, and its outcome returns", async () => {
  const { x, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);

  expect(await x.gateway.deliver(order, { signal })).toEqual(echoed);

  const { timeoutMs, instanceId: _i, agentId: _a, fence: _f, ...sent } = order;
  expect(desk.service.invoked).toEqual([{ ...sent, timeoutMs: expect.any(Number) as number }]);
  expect(desk.service.invoked[0]!.timeoutMs).toBeLessThanOrEqual(timeoutMs);
});

test("a call of a runtime that is connected to the replica of its run sends nothing to other replicas", async () => {
  cluster = await startCluster(["x", "y"]);
  const { x, desk, run } = await cluster.place({}, 0);

  expect(await x.gateway.prepare("agent-a", cluster.hash, { context: { a: 1 } }, { signal })).toEqual({ ok: true });
  const called = await cluster.callToEnd(x, run);

  expect(called).toMatchObject({ ending: echoed.outcome, attempts: 1 });
  expect(desk.service.invoked).toHaveLength(1);
  // Replicas announce their connections, and the load of these at heartbeats.
  expect(cluster.hub.carried.filter((message) => !message.startsWith("publish runtimes"))).toEqual([]);
});

test("a run gets the session and the runtime of another replica", async () => {
  const { x, desk } = await startPair();

  const session = await x.gateway.session("agent-a", { signal });

  expect(session?.manifest).toEqual(desk.service.manifest);
  expect(await x.gateway.assign("agent-a", session!.manifestHash, "echo", { signal })).toBe(desk.instanceId);
  expect(await x.gateway.connected("agent-a")).toBe(true);
  expect(x.gateway.connectionCount()).toBe(0);
});

test("a runtime at another replica decides on a call and does not run it", async () => {
  cluster = await startCluster(["x", "y"], { callCheckMs: 60_000 });
  const { x, desk } = await cluster.place();
  const call = { function: "echo", arguments: { a: 1 } };

  expect(await x.gateway.prepare("agent-a", cluster.hash, { context: {}, call }, { signal })).toEqual({
    ok: true,
    judgement: { decision: "allowed" },
  });
  expect(desk.service.invoked).toEqual([]);
});

test("a context is prepared by a runtime at another replica", async () => {
  // The runtime has as long as the answer of another replica is awaited.
  cluster = await startCluster(["x", "y"], { callCheckMs: 60_000 });
  const { x } = await cluster.place();

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

test("progress of a call at another replica reaches the run", async () => {
  const { deliver } = await startPair({
    async answer(_, { onProgress }) {
      onProgress?.({ done: 1 });
      onProgress?.({ done: 2 });
      return { ok: true, value: 3 };
    },
  });
  const seen: unknown[] = [];

  await deliver({ onProgress: (data) => seen.push(data) });

  expect(seen).toEqual([{ done: 1 }, { done: 2 }]);
});

test("a cancelled run stops its handler at another replica", async () => {
  const { answer, started } = untilAborted();
  const reasons: string[] = [];
  const { deliver } = await startPair({
    answer(call, options) {
      options.signal.addEventListener("abort", () => reasons.push((options.signal.reason as Error).name));
      return answer(call, options);
    },
  });
  const abort = new AbortController();
  const delivery = deliver({ signal: abort.signal });
  await started;

  abort.abort(new Error("cancelled"));

  await expect(delivery).rejects.toThrow("cancelled");
  await until(() => reasons.length > 0, "the abort");
  expect(reasons).toEqual(["AbortError"]);
});

test("a call that exceeds its time stops its handler at another replica", async () => {
  const { answer } = untilAborted();
  const { deliver } = await startPair({ answer });

  const delivery = await deliver({}, { timeoutMs: 50 });

  expect(delivery).toMatchObject({ kind: "outcome", outcome: { ok: false, code: "timed_out" } });
});

test("a call that is queued at another replica is taken back when its run is cancelled", async () => {
  const gate = gated();
  const { desk, deliver } = await startPair({ answer: gate.answer, concurrency: 1 });
  const first = deliver();
  await until(() => gate.started(1), "the first call");
  const abort = new AbortController();
  const second = deliver({ signal: abort.signal });
  const third = deliver();
  await until(() => cluster.hub.carried.includes("reply call 3"), "three calls taken");

  abort.abort(new Error("cancelled"));
  await expect(second).rejects.toThrow("cancelled");
  await until(() => cluster.hub.carried.includes("reply cancel 1"), "the cancellation");
  gate.open();

  expect([await first, await third]).toEqual([echoed, echoed]);
  expect(desk.service.invoked).toHaveLength(2);
});

test("a run that moves to another replica leaves its call running, and the new replica gets the outcome", async () => {
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

test("a call that was queued when its run moved is never executed for the old replica", async () => {
  const gate = gated();
  const { x, y, desk, run, deliver } = await startPair({ answer: gate.answer, concurrency: 1 });
  const first = deliver();
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

test("the order of a replica that lost the run is not taken", async () => {
  const { x, y, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);
  await cluster.takeOver(run, y);

  expect(await x.gateway.deliver(order, { signal })).toEqual({ kind: "undelivered" });
  expect(desk.service.invoked).toEqual([]);
});

test("a runtime with a free slot at this replica is picked first, then the least loaded of all", async () => {
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

test("a replica learns the load that others put on a runtime", async () => {
  const gate = gated();
  const { x, y, desk } = await startPair({ answer: gate.answer, concurrency: 10 });
  const other = await cluster.connectRuntime(y, { answer: gate.answer, concurrency: 10 });
  const run = await cluster.startRun(y);
  const orders = await Promise.all(Array.from({ length: 9 }, () => cluster.intend(run, desk.instanceId)));
  const busy = Promise.all(orders.map((order) => y.gateway.deliver(order, { signal })));
  await until(() => gate.started(9), "the calls");

  // While x does not know the load, the two take turns.
  const assign = () => x.gateway.assign("agent-a", cluster.hash, "echo", { signal });
  await until(async () => (await assign()) === other.instanceId && (await assign()) === other.instanceId, "the load");
  expect([await assign(), await assign()]).toEqual([other.instanceId, other.instanceId]);
  gate.open();
  await busy;
});

test("a run keeps its function set when runtimes with two sets are connected to two replicas", async () => {
  const { x, desk: old } = await startPair();
  const newer = await cluster.connectRuntime(x, { functions: ["echo", "second"] });

  const session = await x.gateway.session("agent-a", { signal });

  expect(session?.manifest).toEqual(newer.service.manifest);
  expect(await x.gateway.assign("agent-a", cluster.hash, "echo", { signal })).toBe(old.instanceId);
  expect(await x.gateway.assign("agent-a", session!.manifestHash, "echo", { signal })).toBe(newer.instanceId);
});

test("a wait for a runtime ends when it connects to another replica", async () => {
  cluster = await startCluster(["x", "y"], { arrivalMs: 60_000 });
  const [x, y] = cluster.replicas as [Replica, Replica];
  const gone = await cluster.connectRuntime(x);
  gone.die();
  await until(() => x.gateway.connectionCount() === 0, "the loss");
  const session = x.gateway.session("agent-a", { signal });
  const assigned = x.gateway.assign("agent-a", cluster.hash, "echo", { signal });

  const desk = await cluster.connectRuntime(y);

  expect((await session)?.manifestHash).toBe(cluster.hash);
  expect(await assigned).toBe(desk.instanceId);
});

test("a draining runtime at another replica gets no further calls, and its queued calls go to another runtime", async () => {
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

test("a call that exceeds the queue of another replica is undelivered", async () => {
  const gate = gated();
  const { y, desk, deliver } = await startPair({ answer: gate.answer, concurrency: 1 });
  const own = await cluster.startRun(y);
  const orders = await Promise.all(Array.from({ length: 1_001 }, () => cluster.intend(own, desk.instanceId)));
  const waiting = orders.map((order) => y.gateway.deliver(order, { signal }));

  expect(await y.gateway.deliver(await cluster.intend(own, desk.instanceId), { signal })).toEqual({
    kind: "undelivered",
  });
  expect(await deliver()).toEqual({ kind: "undelivered" });
  gate.open();

  await Promise.all(waiting);
  expect(timesRun([desk]).size).toBe(1_001);
});
