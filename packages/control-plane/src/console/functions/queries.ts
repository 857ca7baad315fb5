import type { Manifest } from "@patchbay/protocol";
import type { FunctionCase, FunctionFigures, FunctionHistory, FunctionSetVersion } from "@patchbay/protocol/console";
import { sql } from "kysely";
import { fromJson, isoTime } from "../../store/columns.ts";
import { connectedNow } from "../../store/connected.ts";
import type { Engine } from "../../store/engine.ts";
import { olderThan, pageFrom, type PageAsked, type PageOf } from "../../store/page-cursor.ts";
import { tookMs } from "../../store/run-facts.ts";
import type { Schema } from "../../store/schema.ts";
import {
  addToBin,
  binOf,
  type Buckets,
  bucketTime,
  extremesOf,
  type Histogram,
  inSlices,
  percentile,
  type TimeRange,
} from "../analytics/time-range.ts";

const FIRST_SEEN = sql<number>`coalesce(manifests.first_seen_at, manifests.created_at)`;

/** A function set as it was connected. */
export interface StoredFunctionSet {
  manifestHash: string;
  manifest: Manifest;
  firstSeenAt: string;
  /** A runtime with the set is connected now. */
  connected: boolean;
}

export interface FunctionOfSet {
  manifestHash: string;
  functionName: string;
}

/** Function sets of an agent, and how their functions were called. */
export function functionQueries(engine: Engine) {
  return {
    ...setQueries(engine),

    /** By function name, of calls that ended in the range. Percentiles are within 5 % and leave denied calls out. */
    async figures(orgId: string, agentId: string, range: TimeRange): Promise<ReadonlyMap<string, FunctionFigures>> {
      const figures = new Map<string, FunctionFigures>();
      const times = new Map<string, Histogram>();
      await inParts(range, async (part) => {
        for (const row of await endedCalls(engine, orgId, agentId, part)) add(row);
      });

      function add({ function_name: name, state, last_at, ...bin }: EndedCalls): void {
        const { count } = bin;
        const sum = figures.get(name) ?? { ...NONE };
        figures.set(name, sum);
        sum.calls += count;
        const lastAt = isoTime(last_at);
        if (sum.lastCalledAt === null || sum.lastCalledAt < lastAt) sum.lastCalledAt = lastAt;
        if (state === "denied") {
          sum.denied += count;
          return;
        }
        if (state === "failed") sum.failed += count;
        const histogram: Histogram = times.get(name) ?? new Map();
        times.set(name, histogram);
        addToBin(histogram, bin);
      }

      for (const [name, histogram] of times)
        Object.assign(figures.get(name)!, { p50Ms: percentile(histogram, 0.5), p95Ms: percentile(histogram, 0.95) });
      return figures;
    },

    /** Of one function's calls that ended in the range; empty buckets are included. */
    async history(
      orgId: string,
      agentId: string,
      functionName: string,
      range: TimeRange,
      buckets: Buckets,
    ): Promise<FunctionHistory["buckets"]> {
      const each = Array.from({ length: buckets.count }, () => ({ ...NO_CALLS, times: new Map() as Histogram }));
      await inSlices(range, buckets, async (part) => {
        for (const { state, bucket, ...bin } of await callsInBuckets(
          engine,
          orgId,
          agentId,
          part,
          buckets,
          functionName,
        )) {
          const sum = each[bucket]!;
          // Only calls that have ended are counted, and none of them waits for an approval.
          if (state !== null && state !== "waiting") sum[state] += bin.count;
          if (state !== "denied") addToBin(sum.times, bin);
        }
      });
      return each.map(({ times, ...counts }, i) => ({
        at: bucketTime(buckets, i),
        ...counts,
        p50Ms: percentile(times, 0.5),
        p95Ms: percentile(times, 0.95),
      }));
    },
  };
}

const PARTS = 8;

/** Reads the range in eight statements, the newest first. */
export const inParts = (range: TimeRange, read: (part: TimeRange) => Promise<void>): Promise<void> =>
  inSlices(range, { firstAt: range.from, widthMs: (range.to - range.from) / PARTS }, read);

const NONE: FunctionFigures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

const NO_CALLS = { succeeded: 0, failed: 0, denied: 0 };

/** Other services of the agent may have connected sets in between. */
const SETS_SEARCHED = 20;

function setQueries(engine: Engine) {
  const { db } = engine;
  /** When the newest connection of a runtime with the set opened. */
  const opened = sql<number>`coalesce((select max(runtimes.opened_at) from runtimes
    where runtimes.agent_id = manifests.agent_id and runtimes.manifest_hash = manifests.hash), 0)`;
  const connected = sql<number>`case when exists (select 1 from runtimes
    where runtimes.agent_id = manifests.agent_id and runtimes.manifest_hash = manifests.hash
    and ${connectedNow(engine, "runtimes")}) then 1 else 0 end`;
  const ofAgent = (orgId: string, agentId: string) =>
    db
      .selectFrom("manifests")
      .select(["manifests.hash", "manifests.body", FIRST_SEEN.as("first_seen"), connected.as("connected")])
      .where("manifests.org_id", "=", orgId)
      .where("manifests.agent_id", "=", agentId);
  return {
    /** Without a hash: the set of the newest connection. Undefined where the agent has no such set. */
    async set(
      orgId: string,
      agentId: string,
      manifestHash: string | undefined,
    ): Promise<StoredFunctionSet | undefined> {
      const row = await ofAgent(orgId, agentId)
        .$if(manifestHash !== undefined, (one) => one.where("manifests.hash", "=", manifestHash!))
        .orderBy(connected, "desc")
        .orderBy(opened, "desc")
        .orderBy(FIRST_SEEN, "desc")
        .limit(1)
        .executeTakeFirst();
      return row && toSet(row);
    },

    /** The cases of a function that the set's newest runtime reported. */
    async reportedCases(
      orgId: string,
      agentId: string,
      { manifestHash, functionName }: FunctionOfSet,
    ): Promise<FunctionCase[]> {
      const row = await db
        .selectFrom("manifests")
        .select("reported_cases")
        .where("org_id", "=", orgId)
        .where("agent_id", "=", agentId)
        .where("hash", "=", manifestHash)
        .executeTakeFirst();
      const all = row?.reported_cases ? fromJson(row.reported_cases) : [];
      return all.flatMap(({ functionName: of, ...one }) => (of === functionName ? [one] : []));
    },

    /** The newest set of the same services that was first connected before this one. */
    async setBefore(orgId: string, agentId: string, { manifestHash, manifest, firstSeenAt }: StoredFunctionSet) {
      const rows = await db
        .selectFrom(ofAgent(orgId, agentId).as("listed"))
        .selectAll()
        .where((eb) => {
          const at = Date.parse(firstSeenAt);
          return eb.or([eb("first_seen", "<", at), eb.and([eb("first_seen", "=", at), eb("hash", "<", manifestHash)])]);
        })
        .orderBy("first_seen", "desc")
        .orderBy("hash", "desc")
        .limit(SETS_SEARCHED)
        .execute();
      return rows.map(toSet).find((set) => set.manifest.name === manifest.name);
    },

    /** Newest first. */
    async sets(orgId: string, agentId: string, { limit, cursor }: PageAsked): Promise<PageOf<FunctionSetVersion>> {
      const rows = await db
        .selectFrom(ofAgent(orgId, agentId).as("listed"))
        .selectAll()
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, { at: "first_seen", id: "hash" })))
        .orderBy("first_seen", "desc")
        .orderBy("hash", "desc")
        .limit(limit + 1)
        .execute();
      const page = pageFrom(rows, { limit, floor: undefined, endOf: (row) => ({ at: row.first_seen, id: row.hash }) });
      return { items: page.rows.map(toVersion), nextCursor: page.nextCursor };
    },
  };
}

type Row = Pick<Schema["manifests"], "hash" | "body"> & { first_seen: number; connected: number };

const toSet = ({ hash, body, first_seen, connected }: Row): StoredFunctionSet => ({
  manifestHash: hash,
  manifest: fromJson(body),
  firstSeenAt: isoTime(first_seen),
  connected: connected === 1,
});

function toVersion(row: Row): FunctionSetVersion {
  const { manifest, ...set } = toSet(row);
  return { ...set, functions: manifest.functions.map(({ name }) => name) };
}

/** Counts of calls that ended in the range; the index of ended calls holds all columns that these statements read. */
export const callsOf = ({ db }: Engine, orgId: string, agentId: string, { from, to }: TimeRange) =>
  db
    .selectFrom("calls")
    .select((eb) => ["function_name", "state", eb.fn.countAll<number>().as("count")])
    .select((eb) => eb.fn.max("finished_at").as("last_at"))
    .$narrowType<{ last_at: number }>()
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .where("finished_at", "is not", null)
    .where("finished_at", ">=", Math.ceil(from))
    .where("finished_at", "<", Math.ceil(to));

const endedCalls = (engine: Engine, orgId: string, agentId: string, part: TimeRange) =>
  callsOf(engine, orgId, agentId, part)
    .select([binOf(tookMs).as("bin"), ...extremesOf(tookMs)])
    .groupBy(["function_name", "state", "bin"])
    .execute();

const callsInBuckets = (
  engine: Engine,
  orgId: string,
  agentId: string,
  part: TimeRange,
  { firstAt, widthMs }: Buckets,
  functionName: string,
) =>
  callsOf(engine, orgId, agentId, part)
    .where("function_name", "=", functionName)
    .select(sql<number>`(finished_at - cast(${firstAt} as bigint)) / ${sql.lit(widthMs)}`.as("bucket"))
    .select([binOf(tookMs).as("bin"), ...extremesOf(tookMs)])
    .groupBy(["function_name", "state", "bucket", "bin"])
    .execute();

type EndedCalls = Awaited<ReturnType<typeof endedCalls>>[number];
