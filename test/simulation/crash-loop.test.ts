import { virtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import { AGENT, KEYS } from "./clients.ts";
import { startCluster } from "./cluster.ts";
import { POISON } from "./model.ts";
import type { Plan } from "./plan.ts";
import { openSqlite } from "./store.ts";

const CALM: Plan = {
  seed: 1,
  replicas: 1,
  runtimes: 1,
  queries: 0,
  runTimeoutMs: 240_000,
  providerTrouble: 0,
  bus: { loss: 0, duplication: 0, delayMs: 2 },
  olderSets: false,
  killAt: [],
  faults: [],
};

/** A cluster with one run for `query`, and a column of the run's row. */
async function startRun(seed: number, { query, ...plan }: Partial<Plan> & { query: string }) {
  const time = virtualTime(seed);
  const { world } = time;
  const database = await time.during(openSqlite(world));
  const { store } = database;
  const cluster = await time.during(startCluster(world, database, { ...CALM, ...plan, seed }));
  await time.until(() => cluster.replicas.some(({ core }) => core?.gateway.connectionCount() === 1));
  const [{ process, core }] = cluster.replicas as [(typeof cluster.replicas)[0]];
  const caller = { keyId: KEYS.clerk, ...AGENT, tier: "scale", roles: ["clerk"] };
  const request = { query, role: "clerk", analysisMode: false, respondAsync: true };
  const { runId } = await time.during(world.in(process, () => core!.runs.start(caller, request)));
  const runs = store.engine.db.selectFrom("runs").where("id", "=", runId);
  return {
    time,
    cluster,
    row: () => time.during(runs.select(["ending", "crashes", "fence", "owner"]).executeTakeFirstOrThrow()),
    async [Symbol.asyncDispose]() {
      cluster.isOver = true;
      for (const one of cluster.replicas) one.process.kill();
      await time.during(store.close());
      time[Symbol.dispose]();
    },
  };
}

test.each([1, 2, 3])("a run that crashes its process ends at the fourth crash, with %i replicas", async (replicas) => {
  for (let seed = 1; seed <= 2; seed++) {
    await using scene = await startRun(seed, { query: POISON, replicas });
    const { time, cluster, row } = scene;
    let ending: string | null | undefined;
    while (!ending) {
      await time.advance(1_000);
      expect(cluster.faults["replica killed"] ?? 0).toBeLessThanOrEqual(4);
      ({ ending } = await row());
    }

    expect(JSON.parse(ending)).toMatchObject({ code: "crash_loop" });
    expect(cluster.faults["replica killed"]).toBe(4);
  }
});

test.each([1, 2, 3])("a store outage longer than a lease counts no crash, with %i replicas", async (replicas) => {
  for (let seed = 1; seed <= 5; seed++) {
    const faults: Plan["faults"] = [{ at: 500, kind: "store lost", ms: 20_000 }];
    await using scene = await startRun(seed, { query: "Query 7", replicas, faults });
    const { time, cluster, row } = scene;
    await time.advance(20_000 - time.now);
    expect(await row()).toMatchObject({ ending: null, fence: 1 });
    await time.advance(13_000);

    expect(cluster.faults).toEqual({ "store lost": 1 });
    expect(await row()).toMatchObject({ crashes: 0 });
  }
});
