import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { startCluster, timesRun, type Cluster, type Replica, type TestRun, type TestRuntime } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;

afterEach(() => cluster[Symbol.asyncDispose]());

/** A small random generator: the same seed gives the same numbers. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const CALLS = 300;

test("three hundred calls over three replicas run at most once under faults of the bus, the store and the connections", async () => {
  const seed = Number(process.env.PATCHBAY_FAULT_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`gateway random walk: seed ${seed} (PATCHBAY_FAULT_SEED repeats it)`);
  const random = randomFrom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  cluster = await startCluster(["x", "y", "z"], WATCHFUL);
  const replicas = cluster.replicas;
  const runtimes: TestRuntime[] = [];
  for (const replica of replicas.slice(1))
    runtimes.push(
      await cluster.connectRuntime(replica, {
        concurrency: 6,
        async answer({ callId }) {
          await wait(random() * 60);
          return { ok: true, value: callId };
        },
      }),
    );
  const runs: TestRun[] = [];
  for (const replica of replicas) runs.push(await cluster.startRun(replica));
  cluster.hub.fate = () => {
    const draw = random();
    if (draw < 0.04) return "drop";
    if (draw < 0.08) return "twice";
    return draw < 0.14 ? { delayMs: random() * 250 } : "pass";
  };

  // Most runs are at the first replica and most runtimes at the others, so that most calls are remote.
  const places = [...replicas, ...replicas.slice(1), ...replicas.slice(1)];
  const faults: Record<string, () => Promise<void> | void> = {
    move: () => pick(runtimes).move(pick(places)),
    replace: () => pick(runtimes).replace(pick(places)),
    cut: () => pick(runtimes).proxy.cut(),
    bus: () => briefly((replica, on) => cluster.hub.set(replica.name, on ? "cut" : "on")),
    freeze: () => briefly((replica, on) => cluster.hub.set(replica.name, on ? "frozen" : "on")),
    store: () => briefly((replica, on) => (replica.storeDown = on)),
  };
  async function briefly(change: (replica: Replica, on: boolean) => void): Promise<void> {
    const replica = pick(replicas);
    change(replica, true);
    await wait(random() * 200);
    change(replica, false);
  }
  let injected = 0;
  const done: Awaited<ReturnType<Cluster["callToEnd"]>>[] = [];
  /** Causes a fault after the end of a call: with faults by the clock, no call may end on a slow machine. */
  async function nemesis(): Promise<void> {
    while (done.length < CALLS) {
      const before = done.length;
      await pick(Object.values(faults))();
      injected++;
      await wait(random() * 60);
      await until(() => done.length > before, "the end of a call");
    }
  }

  const attacking = Promise.all([nemesis(), nemesis(), nemesis()]);
  async function work(at: number): Promise<void> {
    while (done.length < CALLS) done.push(await cluster.callToEnd(replicas[at]!, runs[at]!));
  }
  await Promise.all(Array.from({ length: 15 }, (_, at) => work([0, 0, 1, 0, 2][at % 5]!)));
  await attacking;

  const counts = timesRun(runtimes);
  const count = (kind: (ending: (typeof done)[0]["ending"]) => boolean): number =>
    done.filter(({ ending }) => kind(ending)).length;
  const ok = count((ending) => typeof ending === "object" && ending.ok);
  const unknown = count((ending) => ending === "unknown");
  const twice = [...counts.values()].filter((times) => times > 1).length;
  console.log(
    `gateway random walk: calls ${done.length}, ok ${ok}, unknown ${unknown}, faults ${injected}, messages ${cluster.hub.carried.length}, ran twice ${twice}`,
  );
  expect(twice).toBe(0);
  for (const { callId, ending } of done) {
    if (typeof ending === "object") expect(ending).toEqual({ ok: true, value: callId });
    if (ending === "not taken") expect(counts.has(callId)).toBe(false);
  }
  // The runtimes stay alive, so every outcome can be recovered.
  expect(unknown).toBe(0);
  expect(ok).toBe(done.length);
});
