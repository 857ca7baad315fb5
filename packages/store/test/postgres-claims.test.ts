import { Kysely, sql } from "kysely";
import { Client } from "pg";
import { expect, test } from "vitest";
import { silentLog } from "@patchbay/kit";
import { postgresDialect } from "../src/dialect/postgres.ts";
import { openStore } from "../src/open.ts";
import type { Schema } from "../src/tables/schema.ts";
import { waiting } from "./contract/asking-runs.ts";
import { openWorld, sampleRun } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";

const RUNS = 1_000;
const AT_ONCE = 20;
const LIMIT = 7;

test("three connections claim 1,000 runs once each, never more than asked for", async () => {
  await using place = await postgresPlace();
  await using opening = new AsyncDisposableStack();
  const open = async () =>
    opening.adopt(await openStore(`${place.database.url}?pool_size=1`), (store) => store.close());
  const [store, ...others] = [await open(), await open(), await open()];
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  const start = () => store.runs.start(sampleRun({ orgId: "org_1", agentId: "agt_1", leaseMs: 0 }));
  for (let made = 0; made < RUNS; made += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, start));
  await store.runs.endLeases({ owner: "replica-0", working: [] });
  // What others are claiming at the moment is passed over: an empty answer is not the end.
  const free = () => place.rows("select id from runs where owner is null limit 1");

  const claimed = await Promise.all(
    [store, ...others].map(async (one, i) => {
      const batches: string[][] = [];
      for (;;) {
        const runs = await one.runs.claim({ owner: `replica-${i}`, leaseMs: 600_000, limit: LIMIT });
        if (runs.length > 0) batches.push(runs.map(({ runId }) => runId));
        else if ((await free()).length === 0) return batches;
      }
    }),
  );

  const batches = claimed.flat();
  expect(claimed.map((some) => some.length > 0)).toEqual([true, true, true]);
  expect(Math.max(...batches.map((batch) => batch.length))).toBe(LIMIT);
  expect(batches.flat()).toHaveLength(RUNS);
  expect(new Set(batches.flat()).size).toBe(RUNS);
});

test("claim candidates are evaluated once, whatever the planner chooses", async () => {
  await using place = await postgresPlace();
  await using store = await openStore(place.database.url).then((open) => ({
    ...open,
    [Symbol.asyncDispose]: () => open.close(),
  }));
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  for (let made = 0; made < 20; made++) await store.runs.start(sampleRun({ orgId: "org_1", agentId: "agt_1" }));
  const dialect = await postgresDialect(`${place.database.url}?options=-c%20enable_material%3Doff`, { log: silentLog });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });

  const plan = await db.transaction().execute(async (trx) => {
    const chosen = dialect.lockForClaim(trx.selectFrom("runs").select("runs.id").orderBy("runs.id").limit(2));
    const { rows } = await sql<{ "QUERY PLAN": string }>`
      explain (analyze, costs off, timing off)
      select * from generate_series(1, 5) as row left join (${chosen}) as chosen on chosen.id <> row::text`.execute(
      trx,
    );
    return rows.map((row) => row["QUERY PLAN"]);
  });

  expect(plan.find((line) => line.includes("LockRows"))).toMatch(/rows=2 loops=1/);
  await db.destroy();
});

test("a run that ends its waiting at the moment of a cancellation is cancelled", async () => {
  const place = await postgresPlace();
  await using world = await openWorld(() => Promise.resolve(place));
  const run = await waiting(world, ["a"]);
  const other = new Client({ connectionString: place.database.adminUrl });
  await other.connect();
  await other.query("begin");
  await other.query("update runs set status = 'running', wake_at = null, remaining_ms = null");

  const cancelled = world.store.runs.requestCancel(world.agentId, run.runId);
  await expect
    .poll(() =>
      place.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"),
    )
    .toHaveLength(1);
  await other.query("commit");
  await other.end();

  expect(await cancelled).toBe("running");
  expect(await place.rows("select cancel_requested from runs")).toEqual([{ cancel_requested: 1 }]);
});
