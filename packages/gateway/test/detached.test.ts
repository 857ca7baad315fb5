import { afterEach, expect, test } from "vitest";
import { gated, untilAborted } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { DUE, liveSubjectOf } from "@patchbay/engine/ports/bus";
import { echoed, startCluster, type Cluster, type RuntimeChange } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;
const signal = new AbortController().signal;
const DETACHED = { detached: true, timeoutMs: 600_000 };
const UNTIL = 4_000_000_000_000;

afterEach(() => cluster[Symbol.asyncDispose]());

/** Two replicas: x has the run, the runtime is at one of them. */
async function placed(at: number, change?: RuntimeChange) {
  cluster = await startCluster(["x", "y"], WATCHFUL);
  const { x, y, desk, run } = await cluster.place(change, at);
  const order = await cluster.intend(run, desk.instanceId, DETACHED);
  const { callId } = order;
  /** Stores what the engine stores of a call that runs, and parks the run. */
  async function park() {
    const { calls } = await cluster.store.runs.checkpoint(run.runId);
    await cluster.store.runs.commit(run, { calls: calls.map((call) => ({ ...call, runsUntil: UNTIL })) });
    await cluster.store.runs.commit(run, { wait: { remainingMs: 1_000 } });
  }
  return { x, y, desk, run, order, callId, park, arrivals: () => cluster.store.calls.arrivals([callId]) };
}

test.each([0, 1])(
  "a delivery ends when the handler runs, and its result is stored and makes the run due: runtime at replica %d",
  async (at) => {
    const gate = gated();
    const { x, desk, order, run, callId, park, arrivals } = await placed(at, { answer: gate.answer, concurrency: 1 });
    const due: unknown[] = [];
    cluster.hub.join("other").subscribe(DUE, (body) => due.push(body));

    expect(await x.gateway.deliver(order, { signal })).toEqual({ kind: "running" });
    expect(await x.gateway.recover(order, { signal })).toEqual({ kind: "running" });
    await park();
    gate.open();

    await until(async () => (await arrivals()).length > 0, "the result");
    await desk.connection.stop(); // waits for the acknowledgement
    expect(await arrivals()).toEqual([{ callId, outcome: echoed.outcome }]);
    expect(due).toEqual([callId]);
    expect(await cluster.store.runs.wake()).toEqual(["org"]);
    expect(await x.gateway.recover({ ...order, ...(await claimed(run)) }, { signal })).toEqual(echoed);
  },
);

async function claimed({ runId }: { runId: string }) {
  const [run] = await cluster.store.runs.claim({ owner: "x", leaseMs: 60_000, limit: 1, runId });
  return { fence: run!.fence };
}

test.each([0, 1])("running detached calls take no place of their connection: runtime at replica %d", async (at) => {
  const gate = gated();
  const { x, desk, run, order } = await placed(at, { answer: gate.answer, concurrency: 1 });
  await x.gateway.deliver(order, { signal });

  const second = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(2), "the second call");
  gate.open();

  expect(await second).toEqual(echoed);
});

test("a handler whose time is over is asked to stop", async () => {
  const { answer } = untilAborted();
  const { x, order } = await placed(1, { answer });
  await x.gateway.deliver(order, { signal });

  expect(await x.gateway.recover({ ...order, timeoutMs: 0 }, { signal })).toMatchObject({
    outcome: { code: "timed_out", message: "stopped" },
  });
});

test.each([0, 1])("a handler that no run waits for stops on request: runtime at replica %d", async (at) => {
  const { answer } = untilAborted();
  const { x, order, arrivals, park } = await placed(at, { answer });
  await x.gateway.deliver(order, { signal });
  await park();

  x.gateway.stop(order);

  await until(async () => (await arrivals()).length > 0, "the result");
  expect(await arrivals()).toMatchObject([{ outcome: { code: "cancelled" } }]);
});

test("a runtime that returns after its call was cancelled is asked to stop", async () => {
  const { answer } = untilAborted();
  const { x, y, desk, order, run, park } = await placed(1, { answer });
  await x.gateway.deliver(order, { signal });
  await park();
  let stopped = false;
  const outcome = { ok: false, code: "cancelled", message: "Gone." } as const;
  await cluster.store.runs.wake({ all: true });
  const fence = await claimed(run);
  const { calls } = await cluster.store.runs.checkpoint(run.runId);
  await cluster.store.runs.commit(
    { runId: run.runId, ...fence },
    { calls: calls.map((call) => ({ ...call, outcome })) },
  );

  y.before("arrive", () => void (stopped = true));
  x.before("arrive", () => void (stopped = true));
  desk.move(x);

  await until(() => stopped, "the result of the stopped handler");
});

test("the newest progress of a running detached call is stored and published, at most once a second", async () => {
  const [step, gate] = [Promise.withResolvers<void>(), gated()];
  const { x, order, run, park } = await placed(0, {
    async answer(invocation, options) {
      await step.promise;
      for (let done = 1; done <= 5; done++) options.onProgress?.({ done });
      return gate.answer(invocation, options);
    },
  });
  const live: unknown[] = [];
  cluster.hub.join("other").subscribe(liveSubjectOf(run.runId), (body) => live.push(body));
  await x.gateway.deliver(order, { signal });
  await park();

  step.resolve();

  await until(() => live.length === 2, "the last progress");
  const event = (done: number) => ({
    live: JSON.stringify({ type: "toolProgress", toolCallId: order.callId, data: { done } }),
  });
  expect(live).toEqual([event(1), event(5)]);
  expect((await cluster.store.runs.checkpoint(run.runId)).calls).toMatchObject([{ progress: { done: 5 } }]);
  gate.open();
});
