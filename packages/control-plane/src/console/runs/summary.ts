import type { RunSource, RunSummary } from "@patchbay/protocol/console";
import { type Expression, type ExpressionBuilder, sql } from "kysely";
import { fromJson, isoTime, idBatches } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import type { RunRow } from "../../store/run-record.ts";
import type { Schema } from "../../store/schema.ts";
import { beginningOf } from "../../store/thread-roles.ts";

const QUERY_UNITS = 200;
const MICROS = 1_000_000;

const COLUMNS = [
  "runs.id",
  "runs.agent_id",
  "runs.thread_id",
  "runs.position",
  "runs.session_id",
  "runs.key_id",
  "runs.role",
  "runs.status",
  "runs.request",
  "runs.created_at",
  "runs.started_at",
  "runs.finished_at",
] as const;

type ColumnName<Name> = Name extends `runs.${infer Column extends keyof RunRow}` ? Column : never;

export type SummarisedRun = Pick<RunRow, ColumnName<(typeof COLUMNS)[number]>> & {
  now: number;
  failure: RunRow["ending"];
};

/** The columns of a summary. The ending is read only for runs that failed or were cancelled. */
export function summarised({ db, dialect }: Engine) {
  return db
    .selectFrom("runs")
    .select(COLUMNS)
    .select((eb) => [
      dialect.now.as("now"),
      eb.case().when("runs.status", "in", ["failed", "cancelled"]).then(eb.ref("runs.ending")).end().as("failure"),
    ]);
}

/** Adds the figures of calls and turns, which are read for all rows together. */
export async function toSummaries(engine: Engine, rows: readonly SummarisedRun[]): Promise<RunSummary[]> {
  const figures = await figuresOf(
    engine,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => toSummary(row, figures.get(row.id) ?? NOTHING));
}

const NOTHING = { calls: 0, failed: 0, denied: 0, input: 0, output: 0, micros: 0 };
type Figures = typeof NOTHING;

async function figuresOf({ db }: Engine, runIds: readonly string[]): Promise<Map<string, Figures>> {
  const found = new Map<string, Figures>();
  for (const ids of idBatches(runIds)) {
    const rows = await db
      .selectFrom("runs")
      .select("runs.id")
      .select((eb) => [
        calls(eb).as("calls"),
        calls(eb).where("calls.state", "=", sql.lit("failed")).as("failed"),
        calls(eb).where("calls.state", "=", sql.lit("denied")).as("denied"),
        spent(eb, "usage.input_tokens").as("input"),
        spent(eb, "usage.output_tokens").as("output"),
        spent(eb, "usage.cost_micros").as("micros"),
      ])
      .where("runs.id", "in", ids)
      .execute();
    for (const { id, ...sums } of rows) found.set(id, numbers(sums));
  }
  return found;
}

const calls = (eb: ExpressionBuilder<Schema, "runs">) =>
  eb
    .selectFrom("calls")
    .select((inner) => inner.fn.countAll<number>().as("count"))
    .whereRef("calls.run_id", "=", "runs.id");

const spent = (
  eb: ExpressionBuilder<Schema, "runs">,
  column: "usage.input_tokens" | "usage.output_tokens" | "usage.cost_micros",
) =>
  eb
    .selectFrom("usage")
    .select((inner) => sum(inner.ref(column)).as("sum"))
    .whereRef("usage.run_id", "=", "runs.id");

/** 0 without rows. The cast keeps sums of integers integers on Postgres. */
export const sum = (column: Expression<number>) => sql<number>`cast(coalesce(sum(${column}), 0) as bigint)`;

function numbers<T extends object>(sums: T): { [K in keyof T]: number } {
  const entries = Object.entries(sums).map(([name, value]) => [name, Number(value)]);
  return Object.fromEntries(entries) as { [K in keyof T]: number };
}

function toSummary(row: SummarisedRun, figures: Figures): RunSummary {
  const { query, provider, model } = fromJson(row.request);
  return {
    runId: row.id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    sessionId: row.session_id,
    source: sourceOf(row.key_id, provider),
    keyId: row.key_id,
    status: row.status,
    code: (row.failure && fromJson(row.failure).code) ?? null,
    role: row.role,
    query: shownQuery(query),
    provider,
    model,
    createdAt: isoTime(row.created_at),
    startedAt: row.started_at === null ? null : isoTime(row.started_at),
    finishedAt: row.finished_at === null ? null : isoTime(row.finished_at),
    durationMs: Math.max(0, (row.finished_at ?? row.now) - row.created_at),
    calls: figures.calls,
    failedCalls: figures.failed,
    deniedCalls: figures.denied,
    inputTokens: figures.input,
    outputTokens: figures.output,
    costUsd: figures.micros / MICROS,
  };
}

/** The part of a query that lists show. */
export const shownQuery = (query: string): string => beginningOf(query, QUERY_UNITS);

/** The prefix of an id names its kind. */
function sourceOf(keyId: string, provider: string): RunSource {
  if (keyId.startsWith("mem_")) return provider === "test_call" ? "test_call" : "playground";
  return keyId.startsWith("tok_") ? "local" : "api";
}
