import { type Expression, sql, type SqlBool } from "kysely";
import type { AnalyticsReads, Buckets, FiguresOf } from "../../ports/console-insight.ts";
import type { Engine } from "../schema.ts";
import { binOf } from "./percentiles.ts";
import { inSlices } from "./slices.ts";
import { createTally } from "./tally.ts";

/**
 * Figures over a time. The database counts, so that what crosses over does not grow with the number of queries; indexes hold
 * all that it reads of runs and calls.
 */
export function analyticsReads(engine: Engine): AnalyticsReads {
  return {
    async queries(of, buckets) {
      const tally = createTally(buckets.count);
      await inSlices(of, buckets, async (slice) => {
        const part = { ...of, ...slice };
        const [ended, spent, calls] = await Promise.all([
          endedQueries(engine, part, buckets),
          spentOnTurns(engine, part, buckets),
          endedCalls(engine, part),
        ]);
        tally.add({ ended, spent, calls });
      });
      return tally.figures();
    },
  };
}

/** Rows of the organisation and of its agents, within the time. */
function within({ orgId, agentId, role, from, to }: FiguresOf, time: "created_at" | "finished_at") {
  const agents =
    agentId === undefined
      ? sql<SqlBool>`agent_id in (select agents.id from agents where agents.org_id = ${orgId})`
      : sql<SqlBool>`agent_id = ${agentId}`;
  const ofRole = role === undefined ? sql`` : sql`and role = ${role}`;
  const at = sql.ref(time);
  return sql<SqlBool>`org_id = ${orgId} and ${agents} and ${at} >= ${from} and ${at} < ${to} ${ofRole}`;
}

const tookMs = sql<number>`(finished_at - created_at)`;

const bucketIn = ({ firstAt, widthMs }: Buckets) =>
  sql<number>`(created_at - cast(${firstAt} as bigint)) / ${sql.lit(widthMs)}`;

const sum = (numbers: Expression<number>) => sql<number>`cast(sum(${numbers}) as bigint)`;

function endedQueries({ db }: Engine, of: FiguresOf, buckets: Buckets) {
  return db
    .selectFrom("runs")
    .select((eb) => [
      "status",
      "role",
      bucketIn(buckets).as("bucket"),
      binOf(tookMs).as("bin"),
      eb.fn.countAll<number>().as("count"),
    ])
    .where(within(of, "created_at"))
    .where("finished_at", "is not", null)
    .groupBy(["bucket", "bin", "status", "role"])
    .execute();
}

function spentOnTurns({ db }: Engine, of: FiguresOf, buckets: Buckets) {
  return db
    .selectFrom("usage")
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
    .where(within(of, "created_at"))
    .groupBy(["bucket", "provider", "model", "role"])
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
    ])
    .where(within(of, "finished_at"))
    .where("finished_at", "is not", null)
    .groupBy(["bin", "function_name", "state"])
    .execute();
}
