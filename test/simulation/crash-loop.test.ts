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

test.each([1, 2, 3])("a run that crashes its process ends at the fourth crash, with %i replicas", async (replicas) => {
  for (let seed = 1; seed <= 2; seed++) {
    using time = virtualTime(seed);
    const { world } = time;
    const database = await time.during(openSqlite(world));
    const { store } = database;
    const cluster = await time.during(startCluster(world, database, { ...CALM, seed, replicas }));
    await time.until(() => cluster.replicas.some(({ core }) => core?.gateway.connectionCount() === 1));
    const [{ process, core }] = cluster.replicas as [(typeof cluster.replicas)[0]];
    const caller = { keyId: KEYS.clerk, ...AGENT, tier: "scale", roles: ["clerk"] };
    const query = { query: POISON, role: "clerk", analysisMode: false, respondAsync: true };

    const { runId } = await time.during(world.in(process, () => core!.runs.start(caller, query)));
    let ending: string | null | undefined;
    const { db } = store.engine;
    while (!ending) {
      await time.advance(1_000);
      expect(cluster.faults["replica killed"] ?? 0).toBeLessThanOrEqual(4);
      const row = db.selectFrom("runs").select("ending").where("id", "=", runId);
      ({ ending } = await time.during(row.executeTakeFirstOrThrow()));
    }

    expect(JSON.parse(ending)).toMatchObject({ code: "crash_loop" });
    expect(cluster.faults["replica killed"]).toBe(4);
    cluster.isOver = true;
    for (const one of cluster.replicas) one.process.kill();
    await time.during(store.close());
  }
});
