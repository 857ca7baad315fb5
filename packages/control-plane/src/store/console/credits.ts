import { sql } from "kysely";
import type { CreditDay, CreditReads, LedgerRow } from "../../ports/console-insight.ts";
import { toCursor } from "../page-cursor.ts";
import type { Engine } from "../schema.ts";
import { olderThan } from "./older-than.ts";

const DAY_MS = 86_400_000;
const sum = sql<number>`cast(coalesce(sum(ledger.micros), 0) as bigint)`;

export function creditReads(engine: Engine): CreditReads {
  const { db, dialect } = engine;
  return {
    async days(orgId, fromDay, toDay) {
      const [moved, held, now] = await Promise.all([
        movedByDay(engine, orgId, fromDay),
        heldByDay(engine, orgId),
        db
          .selectFrom("orgs")
          .select([dialect.now.as("now"), "balance_micros"])
          .where("id", "=", orgId)
          .executeTakeFirstOrThrow(),
      ]);
      const balance = moved[0]?.balance ?? now.balance_micros;
      return daysOf(moved, { held, balance, fromDay, toDay: Math.min(toDay, Math.floor(now.now / DAY_MS)) });
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
      if (cursor !== undefined) query = query.where(olderThan(cursor));
      const rows = await query
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const page = rows.slice(0, limit);
      const agents = await agentsOf(engine, orgId, [...new Set(page.flatMap(({ run_id }) => run_id ?? []))]);
      const last = page.at(-1);
      return {
        items: page.map((row): LedgerRow => ({
          id: row.id,
          at: row.created_at,
          kind: row.kind,
          micros: row.micros,
          runId: row.run_id,
          agentId: (row.run_id !== null && agents.get(row.run_id)) || null,
          step: row.step,
        })),
        nextCursor: rows.length > limit && last ? toCursor({ at: last.created_at, id: last.id }) : null,
      };
    },
  };
}

/** With the balance of the same moment, from which those of the days before are told. */
function movedByDay({ db }: Engine, orgId: string, fromDay: number) {
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
    .where("created_at", ">=", fromDay * DAY_MS)
    .groupBy("day")
    .execute();
}

/** What is held for turns of runs under way, by the day it was taken. */
async function heldByDay({ db }: Engine, orgId: string): Promise<{ day: number; micros: number }[]> {
  const rows = await db
    .selectFrom("runs")
    .innerJoin("ledger", "ledger.run_id", "runs.id")
    .select([sql<number>`ledger.created_at / ${sql.lit(DAY_MS)}`.as("day"), sum.as("micros")])
    .where("runs.status", "=", "running")
    .where("runs.org_id", "=", orgId)
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
        .where("org_id", "=", orgId)
        .where("run_id", "in", runIds),
    )
    .execute();
  return new Map(rows.map(({ id, agent_id }) => [id, agent_id]));
}
