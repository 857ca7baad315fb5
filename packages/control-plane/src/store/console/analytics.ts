import { FUNCTION_NAME } from "@patchbay/protocol";
import { type Expression, sql, type SqlBool } from "kysely";
import type { AnalyticsReads, Buckets, CalledFunction, FiguresOf } from "../../ports/console-insight.ts";
import type { Engine } from "../schema.ts";
import { addToBin, binOf, type Histogram, percentile } from "./percentiles.ts";
import { tallyOf } from "./tally.ts";

/**
 * Figures over a time. The database counts, so that what crosses over does not grow with the number of queries; indexes hold
 * all that it reads of runs and calls.
 */
export function analyticsReads(engine: Engine): AnalyticsReads {
  return {
    async queries(of, buckets) {
      const [ended, roles, spent, calls] = await Promise.all([
        endedQueries(engine, of, buckets),
        queriesByRole(engine, of),
        spentOnTurns(engine, of, buckets),
        endedCalls(engine, of),
      ]);
      return { ...tallyOf(buckets.count, { ended, roles, spent }), functions: functionsOf(calls) };
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
      bucketIn(buckets).as("bucket"),
      binOf(tookMs).as("bin"),
      eb.fn.countAll<number>().as("count"),
    ])
    .where(within(of, "created_at"))
    .where("finished_at", "is not", null)
    .groupBy(["status", "bucket", "bin"])
    .execute();
}

function queriesByRole({ db }: Engine, of: FiguresOf) {
  return db
    .selectFrom("runs")
    .select((eb) => ["role", "status", eb.fn.countAll<number>().as("count")])
    .where(within(of, "created_at"))
    .where("finished_at", "is not", null)
    .groupBy(["role", "status"])
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
      eb.fn.countAll<number>().as("turns"),
      sum(eb.ref("input_tokens")).as("inputTokens"),
      sum(eb.ref("cached_input_tokens")).as("cachedInputTokens"),
      sum(eb.ref("output_tokens")).as("outputTokens"),
      sum(eb.ref("cost_micros")).as("costMicros"),
    ])
    .where(within(of, "created_at"))
    .groupBy(["provider", "model", "role", "bucket"])
    .execute();
}

function endedCalls({ db }: Engine, of: FiguresOf) {
  return db
    .selectFrom("calls")
    .select((eb) => [
      "function_name",
      "state",
      binOf(tookMs).as("bin"),
      eb.fn.countAll<number>().as("count"),
      sum(tookMs).as("ms"),
    ])
    .where(within(of, "finished_at"))
    .where("finished_at", "is not", null)
    .groupBy(["function_name", "state", "bin"])
    .execute();
}

type EndedCalls = Awaited<ReturnType<typeof endedCalls>>;

function functionsOf(rows: EndedCalls): CalledFunction[] {
  const byName = new Map<
    string,
    { calls: number; failed: number; denied: number; totalMs: number; times: Histogram }
  >();
  for (const { function_name, state, bin, count, ms } of rows) {
    // A model may say anything where a name belongs.
    const name = FUNCTION_NAME.test(function_name) ? function_name : "(not a name)";
    let called = byName.get(name);
    if (!called) byName.set(name, (called = { calls: 0, failed: 0, denied: 0, totalMs: 0, times: new Map() }));
    called.calls += count;
    if (state === "denied") {
      called.denied += count;
      continue;
    }
    if (state === "failed") called.failed += count;
    called.totalMs += ms;
    addToBin(called.times, bin, count);
  }
  return [...byName]
    .map(([name, { times, ...counts }]) => ({
      name,
      ...counts,
      p50Ms: percentile(times, 0.5),
      p95Ms: percentile(times, 0.95),
    }))
    .toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
}
