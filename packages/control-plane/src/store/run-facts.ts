import type { RunSource } from "@patchbay/protocol/console";
import { type Expression, sql } from "kysely";
import type { RunKind } from "../ports/records.ts";
import { fromJson, idBatches } from "./columns.ts";
import type { Engine } from "./engine.ts";
import type { RunRow } from "./run-record.ts";
import type { Schema } from "./schema.ts";

/** A row of `run_facts`, without its number. */
export type FactsRow = Omit<Schema["run_facts"], "id">;

/** The columns of a run that its facts come from. */
export const FACTS_FROM = [
  "runs.id",
  "runs.org_id",
  "runs.agent_id",
  "runs.thread_id",
  "runs.session_id",
  "runs.key_id",
  "runs.request_id",
  "runs.role",
  "runs.kind",
  "runs.status",
  "runs.request",
  "runs.ending",
  "runs.created_at",
  "runs.finished_at",
  "runs.waits_since",
  "runs.waited_ms",
] as const;

type ColumnName<Name> = Name extends `runs.${infer Column extends keyof RunRow}` ? Column : never;
export type FactsFrom = Pick<RunRow, ColumnName<(typeof FACTS_FROM)[number]>>;

/** Sums over the calls and the turns of a run. */
export interface Figures {
  calls: number;
  failed: number;
  denied: number;
  input: number;
  output: number;
  micros: number;
  functions: Set<string>;
}

const noFigures = (): Figures => ({
  calls: 0,
  failed: 0,
  denied: 0,
  input: 0,
  output: 0,
  micros: 0,
  functions: new Set(),
});

/** The figures of these runs, read for all of them together. */
export async function figuresOf({ db }: Pick<Engine, "db">, runIds: readonly string[]): Promise<Map<string, Figures>> {
  const found = new Map(runIds.map((id) => [id, noFigures()]));
  for (const ids of idBatches(runIds)) {
    const calls = await db
      .selectFrom("calls")
      .select(["run_id", "function_name", "state"])
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("run_id", "in", ids)
      .groupBy(["run_id", "function_name", "state"])
      .execute();
    for (const { run_id, function_name, state, count } of calls) {
      const figures = found.get(run_id)!;
      figures.calls += count;
      if (state === "failed" || state === "denied") figures[state] += count;
      figures.functions.add(function_name);
    }
    const usage = await db
      .selectFrom("usage")
      .select(({ ref }) => [
        "run_id",
        sum(ref("input_tokens")).as("input"),
        sum(ref("output_tokens")).as("output"),
        sum(ref("cost_micros")).as("micros"),
      ])
      .where("run_id", "in", ids)
      .groupBy("run_id")
      .execute();
    for (const { run_id, ...spent } of usage) Object.assign(found.get(run_id)!, spent);
  }
  return found;
}

/** 0 without rows. The cast keeps sums of integers integers on Postgres. */
export const sum = (column: Expression<number>) => sql<number>`cast(coalesce(sum(${column}), 0) as bigint)`;

/** The facts of runs. A run that has not ended has them up to `now`. */
export async function factsOf(
  engine: Pick<Engine, "db">,
  runs: readonly FactsFrom[],
  now: number,
): Promise<FactsRow[]> {
  if (runs.length === 0) return [];
  const figures = await figuresOf(
    engine,
    runs.map(({ id }) => id),
  );
  return runs.map((run) => toFacts(run, figures.get(run.id)!, now));
}

function toFacts(run: FactsFrom, figures: Figures, now: number): FactsRow {
  const { model } = fromJson(run.request);
  return {
    run_id: run.id,
    org_id: run.org_id,
    agent_id: run.agent_id,
    thread_id: run.thread_id,
    session_id: run.session_id,
    key_id: run.key_id,
    request_id: run.request_id,
    role: run.role,
    source: sourceOf(run.key_id, run.kind),
    status: run.status,
    code: (run.ending && fromJson(run.ending).code) ?? null,
    model,
    functions: listed(figures.functions),
    created_at: run.created_at,
    duration_ms: durationOf(run, now),
    input_tokens: figures.input,
    output_tokens: figures.output,
    cost_micros: figures.micros,
    calls: figures.calls,
    failed_calls: figures.failed,
    denied_calls: figures.denied,
  };
}

/** Milliseconds that a run has taken up to its end or `now`, without the time in which it waited for people. */
export function durationOf(
  {
    created_at,
    finished_at,
    waits_since,
    waited_ms,
  }: Pick<RunRow, "created_at" | "finished_at" | "waits_since" | "waited_ms">,
  now: number,
): number {
  return Math.max(0, (finished_at ?? waits_since ?? now) - created_at - (waited_ms ?? 0));
}

/** As a column of ended runs and calls. The indexes of figures hold all that it reads. */
export const tookMs = sql<number>`(finished_at - created_at - coalesce(waited_ms, 0))`;

/** Names between spaces, which no name contains: a name is found with a space on either side. */
export const listed = (names: Iterable<string>): string => ` ${[...names].join(" ")} `;

/** The prefix of an id names its kind. */
export function sourceOf(keyId: string, kind: RunKind): RunSource {
  if (keyId.startsWith("mem_")) return kind === "call" ? "test_call" : "playground";
  if (kind === "call") return "direct_call";
  return keyId.startsWith("tok_") ? "local" : "api";
}
