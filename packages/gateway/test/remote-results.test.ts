import { afterEach, expect, test } from "vitest";
import { gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { echoed, startCluster, type Cluster, type RuntimeChange } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

/** Two replicas: x has the run, y has the runtime. */
async function startPair(change?: RuntimeChange, options: Parameters<typeof startCluster>[1] = WATCHFUL) {
  cluster = await startCluster(["x", "y"], options);
  return cluster.place(change);
}

test("a result is acknowledged once its run has stored it, and its host writes nothing", async () => {
  // On a loaded machine the acknowledgement may need longer than the 150 ms after which the host would write.
  const { x, y, desk, run } = await startPair(undefined, { callCheckMs: 60_000 });
  let written = 0;
  y.before("arrive", () => void written++);

  await cluster.callToEnd(x, run);

  await desk.connection.stop(); // waits for the acknowledgement
  expect(written).toBe(0);
  expect(cluster.hub.carried).toContain("request acknowledge 1");
});

test("a result that its run does not store is stored by its host, and then acknowledged", async () => {
  const { x, desk, run } = await startPair();
  const order = await cluster.intend(run, desk.instanceId);

  expect(await x.gateway.deliver(order, { signal })).toEqual(echoed);

  await desk.connection.stop();
  expect(await cluster.store.calls.arrivals([order.callId])).toEqual([
    { callId: order.callId, outcome: echoed.outcome },
  ]);
});

test("only the runtime of a call can answer it to another replica", async () => {
  const gate = gated();
  const { x, desk, run } = await startPair({ answer: gate.answer });
  const order = await cluster.intend(run, desk.instanceId);
  const delivery = x.gateway.deliver(order, { signal });
  await until(() => gate.started(1), "the call");
  const { callId, attempt, agentId, instanceId } = order;
  const outcome = { ok: true, value: "forged" };

  const other = cluster.hub.join("other");
  for (const runtime of [
    { agentId, instanceId: "other" },
    { agentId: "agent-b", instanceId },
  ])
    other.publish("replica.x", { type: "answered", callId, attempt, ...runtime, outcome });
  await until(() => cluster.hub.carried.includes("publish answered 2"), "the answers");
  await new Promise(setImmediate);
  gate.open();

  expect(await delivery).toEqual(echoed);
});

const BUSY = { ok: false, code: "function_failed", message: "busy", retryAfterMs: 1 } as const;

test("a later attempt's result replaces the failure that its run has used, and both end acknowledged", async () => {
  const answer: RuntimeChange["answer"] = async ({ attempt }) => (attempt < 3 ? BUSY : { ok: true, value: "done" });
  const { x, desk, run } = await startPair({ answer });
  const order = await cluster.intend(run, desk.instanceId);
  const { callId, functionName, arguments: given, instanceId } = order;
  const call = { callId, functionName, arguments: given, instanceId, step: 1, position: 1, modelCallId: callId };

  for (const attempt of [1, 2, 3]) {
    if (attempt > 1) await cluster.store.runs.commit(run, { calls: [{ ...call, attempt }] });
    const delivery = await x.gateway.deliver({ ...order, attempt }, { signal });
    expect(delivery).toMatchObject({ outcome: attempt < 3 ? BUSY : { value: "done" } });
  }

  await desk.connection.stop(); // waits for the acknowledgement
  expect(await cluster.store.calls.arrivals([callId])).toEqual([{ callId, outcome: { ok: true, value: "done" } }]);
});
