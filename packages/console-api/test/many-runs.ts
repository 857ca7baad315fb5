import type { Manifest } from "@patchbay/protocol";
import { Kysely } from "kysely";
import { silentLog } from "@patchbay/kit";
import { isPostgresUrl } from "@patchbay/database/postgres-pool";
import { postgresDialect } from "../../store/src/dialect/postgres.ts";
import { sqliteDialect, sqliteFile } from "../../store/src/dialect/sqlite.ts";
import { type Engine, NO_FILES } from "@patchbay/store/engine";
import { StoreHealth } from "../../store/src/health.ts";
import type { Schema } from "@patchbay/store/tables/schema";
import { insertion } from "../../store/src/statement.ts";
import { grantOf, type Place, type Rows, sampleRun, sessionOf, threadOf } from "./sample-runs.ts";
import { FUNCTIONS, idOf } from "./sample-turns.ts";

/** A multiple of nine, so that the runs of a session, and of a thread, come together. */
const RUNS_AT_ONCE = 504;
const DAY_MS = 86_400_000;
/** A service may have the file open, and write to it for longer than usual on a busy machine. */
const BUSY_MS = 60_000;
/** More than a run ever costs. */
const MICROS_A_RUN = 20_000;

export interface ManyRuns {
  /** Both must be there. */
  orgId: string;
  agentId: string;
  runs: number;
  /** When the newest run began. Default: now, by this machine. */
  newestAt?: number;
  /** Time that the runs are spread over. Default 30 days. */
  spanMs?: number;
}

/**
 * Fills a store with ended runs as they would have been stored: runs with threads, sessions, turns, calls, events, usage, ledger
 * and audit, straight into the tables. The same every time but for the times. The balance grows with the ledger.
 */
export async function fillWithRuns(url: string, options: ManyRuns): Promise<void> {
  const { orgId, agentId, runs, newestAt = Date.now(), spanMs = 30 * DAY_MS } = options;
  const place: Place = { orgId, agentId, manifestHash: idOf("set", agentId) };
  const perDay = MICROS_A_RUN * Math.ceil((runs * DAY_MS) / spanMs);
  const startOf = (i: number): number => Math.round(newestAt - spanMs + (spanMs * Math.min(i + 1, runs)) / runs);
  const dialect = isPostgresUrl(url)
    ? await postgresDialect(url, { log: silentLog })
    : sqliteDialect(sqliteFile(url) ?? refuseMemory(), { busyTimeoutMs: BUSY_MS });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  try {
    for (let from = 0; from < runs; from += RUNS_AT_ONCE) {
      const to = Math.min(from + RUNS_AT_ONCE, runs);
      await db.transaction().execute(async (trx) => {
        const engine = { db: trx, reads: trx, urgent: trx, dialect, files: NO_FILES, health: new StoreHealth() };
        if (from === 0) await insert(engine, { manifests: [manifestOf(place, startOf(0))] });
        await insert(engine, batch(place, from, to, { startOf, perDay }));
      });
    }
    await balance(db, orgId);
    // A service that has the file open found nothing missing from these times.
    await db.updateTable("upkeep").set({ reached: null }).where("name", "=", "index").execute();
  } finally {
    await db.destroy();
  }
}

function refuseMemory(): never {
  throw new Error("A store in memory has one connection, which belongs to the store: fill a file.");
}

function batch(
  place: Place,
  from: number,
  to: number,
  { startOf, perDay }: { startOf: (i: number) => number; perDay: number },
): Rows {
  const all: Record<string, object[]> = {};
  const add = (rows: Rows): void => {
    for (const [table, some] of Object.entries(rows)) (all[table] ??= []).push(...some);
  };
  for (let i = from; i < to; i++) {
    const at = startOf(i);
    const { orgId: org_id, agentId: agent_id } = place;
    const newDay = i === 0 || Math.floor(at / DAY_MS) > Math.floor(startOf(i - 1) / DAY_MS);
    if (newDay) add({ ledger: [grantOf(org_id, at - 1_000, perDay)] });
    if (i % 9 === 0)
      add({ sessions: [{ agent_id, id: sessionOf(i), org_id, created_at: at, last_seen_at: startOf(i + 8) }] });
    if (i % 3 === 0) add({ threads: [threadRow(place, i, startOf)] });
    add(sampleRun(place, i, at));
  }
  return all;
}

function threadRow({ orgId, agentId }: Place, i: number, startOf: (i: number) => number) {
  return {
    id: threadOf(agentId, i),
    org_id: orgId,
    agent_id: agentId,
    session_id: sessionOf(i),
    listed: 1,
    title: `No. ${i}: show me what is late`,
    last_position: 3,
    created_at: startOf(i),
    updated_at: startOf(i + 2),
  };
}

function manifestOf({ orgId, agentId, manifestHash }: Place, created_at: number) {
  const body: Manifest = {
    name: "shop",
    preparesContext: false,
    functions: FUNCTIONS.map((name, n) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: { type: "object" },
      roles: n % 3 === 0 ? "everyone" : n % 3 === 1 ? ["customer", "support"] : ["manager"],
      conditional: n % 4 === 1,
      effect: n > 5 ? "write" : "read",
      idempotent: false,
      timeoutMs: 30_000,
    })),
  };
  return {
    org_id: orgId,
    agent_id: agentId,
    hash: manifestHash,
    body: JSON.stringify(body),
    created_at,
    first_seen_at: created_at,
  };
}

type Insert = (engine: Engine, rows: readonly object[]) => Promise<void>;
const intoTable = (table: keyof Schema): Insert =>
  insertion<object>((rows, { db }) => db.insertInto(table).values(rows));

/** What is referred to comes before what refers to it. */
const INSERTS: Record<string, Insert> = Object.fromEntries(
  (
    ["manifests", "sessions", "threads", "runs", "run_events", "turns", "calls", "usage", "ledger", "audit"] as const
  ).map((table) => [table, intoTable(table)]),
);

async function insert(engine: Engine, rows: Rows): Promise<void> {
  for (const [table, into] of Object.entries(INSERTS)) await into(engine, rows[table as keyof Rows] ?? []);
}

async function balance(db: Kysely<Schema>, orgId: string): Promise<void> {
  await db
    .insertInto("balances")
    .values((eb) => ({
      org_id: orgId,
      micros: eb
        .selectFrom("ledger")
        .select((sum) => sum.fn.coalesce(sum.fn.sum<number>("micros"), sum.lit(0)).as("sum"))
        .where("org_id", "=", orgId),
    }))
    .onConflict((conflict) => conflict.column("org_id").doUpdateSet((eb) => ({ micros: eb.ref("excluded.micros") })))
    .execute();
}
