import type { RunSource } from "@patchbay/protocol/console";
import { type Expression, sql } from "kysely";
import type { RunKind } from "@patchbay/engine/ports/records";
import { fromJson, idBatches } from "../columns.ts";
import type { Engine } from "../engine.ts";
import type { RunRow } from "../tables/runs.ts";
import { afterWrites } from "./run-writes.ts";
import { FACTS_OF_RUN } from "../tables/run-tables.ts";
import type { Schema } from "../tables/schema.ts";
import { pick } from "../tables/table.ts";

/** A row of `run_facts`, without its number. */
export type FactsRow = Omit<Schema["run_facts"], "id">;

const READ = [
  "id",
  "kind",
  "manifest_hash",
  "retry_of",
  "request",
  "ending",
  "finished_at",
  "waits_since",
  "waited_ms",
] as const;
type ReadColumn = (typeof READ | typeof FACTS_OF_RUN)[number];

/** The run columns that its facts come from. */
export const FACTS_FROM = [...FACTS_OF_RUN, ...READ].map((name) => `runs.${name}` as const);
export type FactsFrom = Pick<RunRow, ReadColumn>;

/** Sums over a run's calls and turns. */
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

/** The figures of these runs, read together. */
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

/** 0 without rows. The cast keeps integer sums integers on Postgres. */
export const sum = (column: Expression<number>) => sql<number>`cast(coalesce(sum(${column}), 0) as bigint)`;

/** The facts of these runs. A run that has not ended has them up to `now`. */
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
  const wrote = await afterWrites(engine, runs);
  return runs.map((run) => ({ ...toFacts(run, figures.get(run.id)!, now), after_writes: wrote.has(run.id) ? 1 : 0 }));
}

function toFacts(run: FactsFrom, figures: Figures, now: number): Omit<FactsRow, "after_writes"> {
  const { model } = fromJson(run.request);
  return {
    ...pick(run, FACTS_OF_RUN),
    run_id: run.id,
    source: sourceOf(run.key_id, run.kind),
    code: (run.ending && fromJson(run.ending).code) ?? null,
    model,
    functions: listed(figures.functions),
    duration_ms: durationOf(run, now),
    input_tokens: figures.input,
    output_tokens: figures.output,
    cost_micros: figures.micros,
    calls: figures.calls,
    failed_calls: figures.failed,
    denied_calls: figures.denied,
  };
}

/** Milliseconds from a run's start to its end or `now`, excluding the time in which it waited for people. */
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

/** As a column for ended runs and calls. The figure indexes contain all that it reads. */
export const tookMs = sql<number>`(finished_at - created_at - coalesce(waited_ms, 0))`;

/** Names between spaces, which names never contain: a name is found with a space on either side. */
export const listed = (names: Iterable<string>): string => ` ${[...names].join(" ")} `;

/** An id's prefix names its kind. */
export function sourceOf(keyId: string, kind: RunKind): RunSource {
  if (keyId.startsWith("mem_")) return kind === "call" ? "test_call" : "playground";
  if (kind === "call") return "direct_call";
  return keyId.startsWith("tok_") ? "local" : "api";
}
