import { monotonicMs, sleep } from "@patchbay/kit/time";
import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import { echoed, startCluster, type Cluster } from "./cluster.ts";
import { simulatedLinks } from "./simulated-links.ts";

const never = new AbortController().signal;
/** How long a request to another replica may take. */
const ANSWER_MS = 2_000;

/** Runs `work` with two replicas in virtual time. */
const inCluster = (options: Parameters<typeof startCluster>[1], work: (cluster: Cluster) => Promise<void>) =>
  inVirtualTime(async ({ world }) => {
    await using cluster = await startCluster(["x", "y"], { links: simulatedLinks(world), ...options });
    cluster.hub.isPatient = false;
    await work(cluster);
  });

/** Delivers a call to a healthy replica that takes `claimMs` to claim it. */
async function deliverTo(cluster: Cluster, claimMs: number) {
  const { x, y, desk, deliver } = await cluster.place();
  await x.gateway.connected("agent-a");
  y.before("accept", () => sleep(claimMs));
  const began = monotonicMs();
  const delivery = await deliver();
  const tookMs = monotonicMs() - began;
  await sleep(claimMs);
  return { delivery, tookMs, invoked: desk.service.invoked.length };
}

test("a replica that answers within 2 s runs the call", async () => {
  await inCluster({ callCheckMs: ANSWER_MS }, async (cluster) => {
    expect(await deliverTo(cluster, ANSWER_MS - 1)).toMatchObject({ delivery: echoed, invoked: 1 });
  });
});

test.each([ANSWER_MS + 1, 60_000])("a replica that takes %i ms is given up after exactly 2 s", async (claimMs) => {
  await inCluster({ callCheckMs: ANSWER_MS }, async (cluster) => {
    const undelivered = { delivery: { kind: "undelivered" }, tookMs: ANSWER_MS, invoked: 0 };
    expect(await deliverTo(cluster, claimMs)).toEqual(undelivered);
  });
});

test("200 runtimes that connect at the same time are announced in one message", async () => {
  const limits = { ...DEFAULT_LIMITS, connectionsPerKey: 200 };
  await inCluster({ limits, heartbeatMs: 60_000 }, async (cluster) => {
    const [x] = cluster.replicas;
    await Promise.all(Array.from({ length: 200 }, () => cluster.connectRuntime(x!)));
    await sleep(1_000);

    expect(await cluster.store.runtimes.connections("agent-a")).toHaveLength(200);
    expect(cluster.hub.carried).toEqual(["publish runtimes 1"]);
  });
});

test("a run gets a newer function set although its announcement was lost", async () => {
  await inCluster({ heartbeatMs: 60_000 }, async (cluster) => {
    const [x, y] = cluster.replicas;
    const functionsNow = async () =>
      (await x!.gateway.session("agent-a", { signal: never }))?.manifest.functions.map(({ name }) => name);
    await cluster.connectRuntime(y!, { functions: ["wipe"] });
    expect(await functionsNow()).toEqual(["wipe"]);
    cluster.hub.fate = () => "drop";
    await cluster.connectRuntime(y!, { functions: ["wipe", "read"] });
    await sleep(1_001);

    expect(await functionsNow()).toEqual(["wipe", "read"]);
  });
});

test.each([
  { call: "it sent", waitsMs: 12_500 },
  { call: "it takes over", waitsMs: 17_500 },
])("a run waits $waitsMs ms for the runtime of a call that $call", async ({ call, waitsMs }) => {
  await inCluster({ heartbeatMs: 5_000, reconnectMs: 12_500, callCheckMs: 60_000 }, async (cluster) => {
    const { x, desk, run, deliver } = await cluster.place({ answer: () => new Promise(() => {}) });
    await x.gateway.connected("agent-a");
    const began = monotonicMs();
    if (call === "it sent") {
      const delivery = deliver();
      await sleep(100);
      desk.die();
      expect(await delivery).toEqual({ kind: "unknown" });
    } else {
      const order = await cluster.intend(run, desk.instanceId);
      desk.die();
      expect(await x.gateway.recover(order, { signal: never })).toEqual({ kind: "unknown" });
    }
    // After the wait the store is read once more.
    expect(Math.floor((monotonicMs() - began) / 500) * 500).toBe(waitsMs);
  });
});
