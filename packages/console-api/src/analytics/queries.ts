import type { Analytics, FigureSource } from "@patchbay/protocol/console";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import { TEST_CALL } from "@patchbay/engine/run/start/settings";
import type { Engine } from "@patchbay/store/engine";
import { sum, tookMs } from "@patchbay/store/runs/run-facts";
import type { Schema } from "@patchbay/store/tables/schema";
import { completeness } from "../lists.ts";
import { from } from "../runs/filter.ts";
import { breakdowns } from "./breakdowns.ts";
import { createTally } from "./tally.ts";
import { binOf, bucketIn, type Buckets, extremesOf, type FiguresOf, inSlices, within } from "./time-range.ts";

/**
 * Figures over a range. The database groups and counts, so the number of rows read does not grow with the number of
 * queries. Without a source, indexes contain all run and call columns that the statements read; with one, each run is
 * read for its key.
 * A query counts at its acceptance, its tokens at the end of their turns, a call at its end.
 */
export async function analyticsFigures(
  engine: Engine,
  of: FiguresOf,
  buckets: Buckets,
): Promise<Omit<Analytics, "from" | "to" | "bucketMs">> {
  const tally = createTally(buckets);
  await inSlices(of, buckets, async (slice) => {
    const part = { ...of, ...slice };
    const [ended, spent, firstTokens, calls] = await Promise.all([
      endedQueries(engine, part, buckets),
      spentOnTurns(engine, part, buckets),
      timesToFirstToken(engine, part, buckets),
      endedCalls(engine, part),
    ]);
    tally.add({ ended, spent, firstTokens, calls });
  });
  return {
    ...tally.figures(),
    ...(await breakdowns(engine, of, buckets)),
    ...(await completeness(engine, of.orgId)),
  };
}

function endedQueries({ db }: Engine, of: FiguresOf, buckets: Buckets) {
  return db
    .selectFrom("runs")
    .select((eb) => [
      "status",
      "role",
      bucketIn(buckets).as("bucket"),
      binOf(tookMs).as("bin"),
      eb.fn.countAll<number>().as("count"),
      ...extremesOf(tookMs),
    ])
    .where(within(of, "created_at"))
    .$if(of.source !== undefined, (some) => some.where((eb) => from(eb, of.source!)))
    .where("finished_at", "is not", null)
    .groupBy(["bucket", "bin", "status", "role"])
    .execute();
}

/** Usage by model turns: a test call has none. */
const turnsOf = ({ db }: Engine, of: FiguresOf) =>
  db
    .selectFrom("usage")
    .where(within(of, "created_at"))
    .where("provider", "!=", TEST_CALL)
    .$if(of.source !== undefined, (some) => some.where((eb) => usageFrom(eb, of.source!)));

const spentOnTurns = (engine: Engine, of: FiguresOf, buckets: Buckets) =>
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

function timesToFirstToken(engine: Engine, of: FiguresOf, buckets: Buckets) {
  const ms = sql<number>`first_token_ms`;
  return turnsOf(engine, of)
    .select((eb) => [
      "provider",
      "model",
      bucketIn(buckets).as("bucket"),
      binOf(ms).as("bin"),
      eb.fn.countAll<number>().as("count"),
      ...extremesOf(ms),
    ])
    .where("first_token_ms", "is not", null)
    .groupBy(["bucket", "bin", "provider", "model"])
    .execute();
}

function endedCalls({ db }: Engine, of: FiguresOf) {
  return db
    .selectFrom("calls")
    .select((eb) => [
      "function_name as name",
      "state",
      binOf(tookMs).as("bin"),
      eb.fn.countAll<number>().as("count"),
      sum(tookMs).as("ms"),
      ...extremesOf(tookMs),
    ])
    .where(within(of, "finished_at"))
    .$if(of.source !== undefined, (some) =>
      some.where((eb) => eb.exists(runOf(eb, "calls.run_id").where((runs) => from(runs, of.source!)))),
    )
    .where("finished_at", "is not", null)
    .groupBy(["bin", "function_name", "state"])
    .execute();
}

const runOf = (eb: ExpressionBuilder<Schema, "calls" | "usage">, runId: "calls.run_id" | "usage.run_id") =>
  eb.selectFrom("runs").select("runs.id").whereRef("runs.id", "=", runId);

/** Deleted runs leave daily usage without a source, which counts as production. */
function usageFrom(eb: ExpressionBuilder<Schema, "usage">, source: FigureSource): Expression<SqlBool> {
  const run = runOf(eb, "usage.run_id");
  return source === "production"
    ? eb.not(eb.exists(run.where((runs) => runs.not(from(runs, source)))))
    : eb.exists(run.where((runs) => from(runs, source)));
}
