import type { RunSource } from "@patchbay/protocol/console";
import { type Expression, sql } from "kysely";
import type { RunKind } from "@patchbay/engine/ports/records";
import { fromJson, idBatches } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { afterWrites } from "./run-writes.ts";
import { type FactsRow, ofRunColumns, type RunRow } from "../tables/runs.ts";
import { pick } from "../tables/table.ts";

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
type ReadColumn = (typeof READ | typeof ofRunColumns.names)[number];

/** The run columns that its facts come from. */
export const FACTS_FROM = [...ofRunColumns.names, ...READ].map((name) => `runs.${name}` as const);
export type FactsFrom = Pick<RunRow, ReadColumn>;

const NO_CALLS = { calls: 0, failed_calls: 0, denied_calls: 0, functions: " " };
const NO_TURNS = { input_tokens: 0, output_tokens: 0, cost_micros: 0 };
const SPENT = Object.keys(NO_TURNS) as (keyof typeof NO_TURNS)[];

/** Sums over a run's calls and turns. */
export type Figures = Pick<FactsRow, keyof typeof NO_CALLS | keyof typeof NO_TURNS>;

/** The figures of these runs, read together. */
export async function figuresOf({ db }: Pick<Engine, "db">, runIds: readonly string[]): Promise<Map<string, Figures>> {
  const found = new Map(runIds.map((id): [string, Figures] => [id, { ...NO_CALLS, ...NO_TURNS }]));
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
      if (state === "failed" || state === "denied") figures[`${state}_calls`] += count;
      if (!figures.functions.includes(between(function_name))) figures.functions += `${function_name} `;
    }
    const usage = await db
      .selectFrom("usage")
      .select("run_id")
      .select(({ ref }) => SPENT.map((column) => sum(ref(column)).as(column)))
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
  return runs.map((run) => ({
    ...pick(run, ofRunColumns.names),
    ...figures.get(run.id)!,
    run_id: run.id,
    source: sourceOf(run.key_id, run.kind),
    code: (run.ending && fromJson(run.ending).code) ?? null,
    model: fromJson(run.request).model,
    duration_ms: durationOf(run, now),
    after_writes: Number(wrote.has(run.id)),
  }));
}

/** Milliseconds from a run's start to its end or `now`, excluding the time in which it waited for people. */
export function durationOf(
  run: Pick<RunRow, "created_at" | "finished_at" | "waits_since" | "waited_ms">,
  now: number,
): number {
  const { created_at, finished_at, waits_since, waited_ms } = run;
  return Math.max(0, (finished_at ?? waits_since ?? now) - created_at - (waited_ms ?? 0));
}

/** As a column for ended runs and calls. The figure indexes contain all that it reads. */
export const tookMs = sql<number>`(finished_at - created_at - coalesce(waited_ms, 0))`;

/** A name as a list of names has it: names never contain spaces. */
export const between = (name: string): string => ` ${name} `;

/** An id's prefix names its kind. */
export function sourceOf(keyId: string, kind: RunKind): RunSource {
  if (keyId.startsWith("mem_")) return kind === "call" ? "test_call" : "playground";
  if (kind === "call") return "direct_call";
  return keyId.startsWith("tok_") ? "local" : "api";
}
