import { sql } from "kysely";
import type { CreditDay, CreditReads, LedgerRow } from "../../ports/console-insight.ts";
import type { Engine } from "../schema.ts";
import { olderThan, pageFrom } from "./keyset.ts";
import { inSlices, type Slice } from "./slices.ts";

const DAY_MS = 86_400_000;
const NEWEST = { at: "created_at", id: "id" };
const oldestEntry = sql<number>`min(ledger.created_at)`.as("oldest");
const sum = sql<number>`cast(coalesce(sum(ledger.micros), 0) as bigint)`;

export function creditReads(engine: Engine): CreditReads {
  const { db, dialect } = engine;
  return {
    async days(orgId, fromDay, toDay) {
      const { now, balance_micros, oldest } = await db
        .selectFrom("orgs")
        .select([dialect.now.as("now"), "balance_micros"])
        .select((eb) => eb.selectFrom("ledger").select(oldestEntry).where("org_id", "=", orgId).as("oldest"))
        .where("id", "=", orgId)
        .executeTakeFirstOrThrow();
      const today = Math.floor(now / DAY_MS);
      const moved: MovedOnDay[] = [];
      // Parts of a range that begins long before the ledger would leave all of it to the newest one.
      const firstAt = Math.max(fromDay, Math.floor((oldest ?? now) / DAY_MS)) * DAY_MS;
      await inSlices({ from: firstAt, to: (today + 1) * DAY_MS }, { firstAt, widthMs: DAY_MS }, async (slice) => {
        moved.push(...(await movedByDay(engine, orgId, slice)));
      });
      // Of the newest days, read first: what is entered after that is in neither.
      const balance = moved[0]?.balance ?? balance_micros;
      const held = await heldByDay(engine, orgId);
      return daysOf(moved, { held, balance, fromDay, toDay: Math.min(toDay, today) });
    },

    async heldMicros(orgId) {
      return (await heldByDay(engine, orgId)).reduce((all, { micros }) => all + micros, 0);
    },

    async spentMicros(orgId, since) {
      const row = await db
        .selectFrom("ledger")
        .select(sum.as("micros"))
        .where("org_id", "=", orgId)
        .where("created_at", ">=", since)
        .where("kind", "<>", "grant")
        .executeTakeFirstOrThrow();
      return -row.micros;
    },

    async ledger(orgId, { kind, limit, cursor }) {
      let query = db.selectFrom("ledger").selectAll().where("org_id", "=", orgId);
      // Literals, since a partial index is chosen by them.
      if (kind !== undefined) query = query.where(sql<boolean>`kind = ${sql.lit(kind)}`);
      if (kind === "grant" || kind === "release") query = query.where(sql<boolean>`kind in ('grant', 'release')`);
      if (cursor !== undefined) query = query.where(olderThan(cursor, NEWEST));
      const rows = await query
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = ({ created_at: at, id }: (typeof rows)[number]) => ({ at, id });
      const { rows: page, nextCursor } = pageFrom(rows, { limit, floor: undefined, endOf });
      const agents = await agentsOf(engine, orgId, [...new Set(page.flatMap(({ run_id }) => run_id ?? []))]);
      const items = page.map((row): LedgerRow => ({
        id: row.id,
        at: row.created_at,
        kind: row.kind,
        micros: row.micros,
        runId: row.run_id,
        agentId: (row.run_id !== null && agents.get(row.run_id)) || null,
        step: row.step,
      }));
      return { items, nextCursor };
    },
  };
}

type MovedOnDay = Awaited<ReturnType<typeof movedByDay>>[number];

/** With the balance of the same moment, from which those of the days before are told. */
function movedByDay({ db }: Engine, orgId: string, { from, to }: Slice) {
  const granted = sql<number>`cast(coalesce(sum(case when kind = 'grant' then micros end), 0) as bigint)`;
  return db
    .selectFrom("ledger")
    .select((eb) => [
      sql<number>`created_at / ${sql.lit(DAY_MS)}`.as("day"),
      sum.as("micros"),
      granted.as("granted"),
      eb.selectFrom("orgs").select("balance_micros").where("orgs.id", "=", orgId).$asScalar().$notNull().as("balance"),
    ])
    .where("org_id", "=", orgId)
    .where("created_at", ">=", from)
    .where("created_at", "<", to)
    .groupBy("day")
    .execute();
}

/** What is held for turns of runs under way, by the day it was taken. */
async function heldByDay({ db }: Engine, orgId: string): Promise<{ day: number; micros: number }[]> {
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
    .where("ledger.kind", "=", "hold")
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
  return rows.map(({ day, micros }) => ({ day, micros: -micros }));
}

interface Known {
  held: { day: number; micros: number }[];
  /** Now. */
  balance: number;
  fromDay: number;
  toDay: number;
}

/** From today backwards, since what is known is today's balance. */
function daysOf(
  moved: { day: number; micros: number; granted: number }[],
  { held, balance, fromDay, toDay }: Known,
): CreditDay[] {
  const movedOn = new Map(moved.map((row) => [row.day, row]));
  const heldOn = new Map(held.map(({ day, micros }) => [day, micros]));
  const days: CreditDay[] = [];
  let balanceMicros = balance;
  // What was held before midnight and given back after it: the day before seemed to spend it.
  let givenBack = 0;
  for (let day = Math.max(toDay, ...movedOn.keys()); day >= fromDay; day--) {
    const { micros, granted } = movedOn.get(day) ?? { micros: 0, granted: 0 };
    const spent = granted - micros - (heldOn.get(day) ?? 0) - givenBack;
    givenBack = Math.max(0, -spent);
    if (day <= toDay) days.push({ day, spentMicros: Math.max(0, spent), grantedMicros: granted, balanceMicros });
    balanceMicros -= micros;
  }
  return days.reverse();
}

/** Usage outlives the runs, and runs may have none yet. */
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
        // An expression, lest an index of the whole organisation is taken for the narrower one.
        .where((eb) => eb(eb.fn.coalesce("org_id", eb.val("")), "=", orgId))
        .where("run_id", "in", runIds),
    )
    .execute();
  return new Map(rows.map(({ id, agent_id }) => [id, agent_id]));
}
