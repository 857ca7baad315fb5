import type { FigureSource } from "@patchbay/protocol/console";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import { TEST_CALL } from "@patchbay/engine/run/start/settings";
import type { Engine } from "@patchbay/store/engine";
import { sum, tookMs } from "@patchbay/store/runs/run-facts";
import type { Schema } from "@patchbay/store/tables/schema";
import { from } from "../runs/filter.ts";
import { binned, bucketIn, type Buckets, type FiguresOf, within } from "./time-range.ts";

export const endedQueries = ({ db }: Engine, of: FiguresOf, buckets: Buckets) =>
  db
    .selectFrom("runs")
    .select(["status", "role", bucketIn(buckets).as("bucket"), ...binned(tookMs)])
    .where(within(of, "created_at"))
    .$if(of.source !== undefined, (some) => some.where((eb) => from(eb, of.source!)))
    .where("finished_at", "is not", null)
    .groupBy(["bucket", "bin", "status", "role"])
    .execute();

/** Usage by model turns: a test call has none. */
const turnsOf = ({ db }: Engine, of: FiguresOf) =>
  db
    .selectFrom("usage")
    .where(within(of, "created_at"))
    .where("provider", "!=", TEST_CALL)
    .$if(of.source !== undefined, (some) => some.where((eb) => usageFrom(eb, of.source!)));

export const spentOnTurns = (engine: Engine, of: FiguresOf, buckets: Buckets) =>
  turnsOf(engine, of)
    .select((eb) => [
      "provider",
      "model",
      "role",
      bucketIn(buckets).as("bucket"),
      sum(eb.ref("turns")).as("turns"),
      sum(eb.ref("input_tokens")).as("inputTokens"),
      sum(eb.ref("cached_input_tokens")).as("cachedInputTokens"),
      sum(eb.ref("cache_write_input_tokens")).as("cacheWriteInputTokens"),
      sum(eb.ref("output_tokens")).as("outputTokens"),
      sum(eb.ref("cost_micros")).as("costMicros"),
    ])
    .groupBy(["bucket", "provider", "model", "role"])
    .execute();

export const timesToFirstToken = (engine: Engine, of: FiguresOf, buckets: Buckets) =>
  turnsOf(engine, of)
    .select(["provider", "model", bucketIn(buckets).as("bucket"), ...binned(sql<number>`first_token_ms`)])
    .where("first_token_ms", "is not", null)
    .groupBy(["bucket", "bin", "provider", "model"])
    .execute();

export const endedCalls = ({ db }: Engine, of: FiguresOf) =>
  db
    .selectFrom("calls")
    .select(["function_name as name", "state", sum(tookMs).as("ms"), ...binned(tookMs)])
    .where(within(of, "finished_at"))
    .$if(of.source !== undefined, (some) =>
      some.where((eb) => eb.exists(runOf(eb, "calls.run_id").where((runs) => from(runs, of.source!)))),
    )
    .where("finished_at", "is not", null)
    .groupBy(["bin", "function_name", "state"])
    .execute();

const runOf = (eb: ExpressionBuilder<Schema, "calls" | "usage">, runId: "calls.run_id" | "usage.run_id") =>
  eb.selectFrom("runs").select("runs.id").whereRef("runs.id", "=", runId);

/** Deleted runs leave daily usage without a source, which counts as production. */
function usageFrom(eb: ExpressionBuilder<Schema, "usage">, source: FigureSource): Expression<SqlBool> {
  const run = runOf(eb, "usage.run_id");
  return source === "production"
    ? eb.not(eb.exists(run.where((runs) => runs.not(from(runs, source)))))
    : eb.exists(run.where((runs) => from(runs, source)));
}
