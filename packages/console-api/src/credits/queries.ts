import { isoTime } from "@patchbay/kit";
import type { Credits, LedgerEntry } from "@patchbay/protocol/console";
import { sql } from "kysely";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import { balanceOf } from "@patchbay/store/runs/credits";
import type { Engine } from "@patchbay/store/engine";
import { newestPage, type PageAsked, type PageOf } from "@patchbay/store/page-cursor";
import { inSlices, type TimeRange } from "../analytics/time-range.ts";

const DAY_MS = 86_400_000;
const NEWEST = { at: "created_at", id: "id" } as const;
const oldestEntry = sql<number>`min(ledger.created_at)`.as("oldest");
const sum = sql<number>`cast(coalesce(sum(ledger.micros), 0) as bigint)`;

/** An organisation's credits. Days have 24 h in UTC and are counted from 1970-01-01. */
export function creditQueries(engine: Engine) {
  const { db, dialect } = engine;
  return {
    /** Every day from `fromDay` to `toDay`, both included, oldest first, without future days. */
    async days(orgId: string, fromDay: number, toDay: number): Promise<Credits["days"]> {
      const { now, balance_micros, oldest } = await db
        .selectFrom("orgs")
        .select((eb) => [dialect.now.as("now"), balanceOf(eb, orgId).as("balance_micros")])
        .select((eb) => eb.selectFrom("ledger").select(oldestEntry).where("org_id", "=", orgId).as("oldest"))
        .where("id", "=", orgId)
        .executeTakeFirstOrThrow();
      const today = Math.floor(now / DAY_MS);
      const moved: MovedOnDay[] = [];
      // A range that starts long before the first entry would put all entries into the newest slice.
      const firstAt = Math.max(fromDay, Math.floor((oldest ?? now) / DAY_MS)) * DAY_MS;
      await inSlices({ from: firstAt, to: (today + 1) * DAY_MS }, { firstAt, widthMs: DAY_MS }, async (slice) => {
        moved.push(...(await movedByDay(engine, orgId, slice)));
      });
      // Read with the newest slice: later entries are in neither the balance nor the slices.
      let balanceMicros = moved[0]?.balance ?? balance_micros;
      const movedOn = new Map(moved.map((row) => [row.day, row]));
      const reservedOn = await reservedByDay(engine, orgId);
      const days: Credits["days"] = [];
      const last = Math.min(toDay, today);
      // Credit reserved before midnight and returned after it: the previous day seems to have spent it.
      let givenBack = 0;
      // Computed backwards from today, because only today's balance is known.
      for (let day = Math.max(last, ...movedOn.keys()); day >= fromDay; day--) {
        const { micros, granted } = movedOn.get(day) ?? { micros: 0, granted: 0 };
        const spent = granted - micros - (reservedOn.get(day) ?? 0) - givenBack;
        givenBack = Math.max(0, -spent);
        if (day <= last)
          days.push({
            day: isoTime(day * DAY_MS).slice(0, 10),
            spentUsd: usdOf(Math.max(0, spent)),
            grantedUsd: usdOf(granted),
            balanceUsd: usdOf(balanceMicros),
          });
        balanceMicros -= micros;
      }
      return days.reverse();
    },

    /** Credit reserved for turns in progress. */
    async reservedMicros(orgId: string): Promise<number> {
      return (await reservedByDay(engine, orgId)).values().reduce((all, micros) => all + micros, 0);
    },

    /** Credit spent or reserved since then. */
    async spentMicros(orgId: string, since: number): Promise<number> {
      const row = await db
        .selectFrom("ledger")
        .select(sum.as("micros"))
        .where("org_id", "=", orgId)
        .where("created_at", ">=", since)
        .where("kind", "<>", "grant")
        .executeTakeFirstOrThrow();
      return -row.micros;
    },

    /** Newest first. */
    async ledger(
      orgId: string,
      { kind, ...asked }: { kind?: LedgerEntry["kind"] | undefined } & PageAsked,
    ): Promise<PageOf<LedgerEntry>> {
      let query = db.selectFrom("ledger").selectAll().where("org_id", "=", orgId);
      // Literals: the database chooses a partial index only by them.
      if (kind !== undefined) query = query.where(sql<boolean>`kind = ${sql.lit(kind)}`);
      if (kind === "grant" || kind === "release") query = query.where(sql<boolean>`kind in ('grant', 'release')`);
      const { items: page, nextCursor } = await newestPage(query, asked, NEWEST);
      const agents = await agentsOf(engine, orgId, [...new Set(page.flatMap(({ run_id }) => run_id ?? []))]);
      const items = page.map((row): LedgerEntry => ({
        id: row.id,
        at: isoTime(row.created_at),
        kind: row.kind,
        usd: usdOf(row.micros),
        runId: row.run_id,
        agentId: (row.run_id !== null && agents.get(row.run_id)) || null,
        step: row.step,
      }));
      return { items, nextCursor };
    },
  };
}

type MovedOnDay = Awaited<ReturnType<typeof movedByDay>>[number];

/** With the balance at the same time, from which earlier balances are computed. */
function movedByDay({ db }: Engine, orgId: string, { from, to }: TimeRange) {
  const granted = sql<number>`cast(coalesce(sum(case when kind = 'grant' then micros end), 0) as bigint)`;
  return db
    .selectFrom("ledger")
    .select((eb) => [
      sql<number>`created_at / ${sql.lit(DAY_MS)}`.as("day"),
      sum.as("micros"),
      granted.as("granted"),
      balanceOf(eb, orgId).as("balance"),
    ])
    .where("org_id", "=", orgId)
    .where("created_at", ">=", from)
    .where("created_at", "<", to)
    .groupBy("day")
    .execute();
}

/** Credit reserved for turns of running runs, by reservation day. */
async function reservedByDay({ db }: Engine, orgId: string): Promise<Map<number, number>> {
  const open = db
    .selectFrom("runs")
    .select("runs.id")
    .where("runs.finished_at", "is", null)
    .where("runs.status", "=", "running")
    .where("runs.org_id", "=", orgId);
  const rows = await db
    .selectFrom("ledger")
    .select([sql<number>`ledger.created_at / ${sql.lit(DAY_MS)}`.as("day"), sum.as("micros")])
    .where("ledger.run_id", "in", open)
    .where("ledger.kind", "=", "reserve")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("ledger as end")
            .select("end.id")
            .whereRef("end.run_id", "=", "ledger.run_id")
            .whereRef("end.step", "=", "ledger.step")
            .where("end.kind", "in", ["settle", "release"]),
        ),
      ),
    )
    .groupBy("day")
    .execute();
  return new Map(rows.map(({ day, micros }) => [day, -micros]));
}

/** From runs and from usage: usage outlives its runs, and a new run has none. */
async function agentsOf({ db }: Engine, orgId: string, runIds: string[]): Promise<Map<string, string>> {
  if (runIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("runs")
    .select(["id", "agent_id"])
    .where("org_id", "=", orgId)
    .where("id", "in", runIds)
    .union(
      db
        .selectFrom("usage")
        .select(["run_id as id", "agent_id"])
        // The expression stops the database from using the organisation index instead of the narrower one.
        .where((eb) => eb(eb.fn.coalesce("org_id", eb.val("")), "=", orgId))
        .where("run_id", "in", runIds),
    )
    .execute();
  return new Map(rows.map(({ id, agent_id }) => [id, agent_id]));
}
