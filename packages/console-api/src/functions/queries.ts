import { isoTime } from "@patchbay/kit";
import type { FunctionCase, FunctionFigures, FunctionHistory, FunctionSetVersion } from "@patchbay/protocol/console";
import { sql } from "kysely";
import { fromJson, manifestIn } from "@patchbay/store/columns";
import { connectedNow } from "@patchbay/store/function-sets/connected";
import type { Engine } from "@patchbay/store/engine";
import { newestPage, type PageAsked, type PageOf } from "@patchbay/store/page-cursor";
import { tookMs } from "@patchbay/store/runs/run-facts";
import type { Schema } from "@patchbay/store/tables/schema";
import {
  addToBin,
  binned,
  bucketIn,
  type Buckets,
  bucketTime,
  getOrCreate,
  type Histogram,
  inSlices,
  type TimeRange,
  withPercentiles,
} from "../analytics/time-range.ts";
import { addCalls, type CallSums, noCalls } from "../analytics/tally.ts";
import type { AgentScope } from "../lists.ts";
import { is } from "@patchbay/store/statement";

const FIRST_SEEN = sql<number>`coalesce(manifests.first_seen_at, manifests.created_at)`;

/** A function set as connected. */
export type StoredFunctionSet = Awaited<ReturnType<typeof toSet>>;

/** An agent's function sets, and the calls of their functions. */
export function functionQueries(engine: Engine) {
  return {
    ...setQueries(engine),

    /** By function name, for calls that ended in the range. Percentiles are within 5 % and exclude denied calls. */
    async figures(scope: AgentScope, range: TimeRange): Promise<ReadonlyMap<string, FunctionFigures>> {
      const sums = new Map<string, CallSums & { lastAt: number }>();
      await inParts(range, async (part) => {
        const rows = await callsOf(engine, scope, part)
          .select(binned(tookMs))
          .groupBy(["function_name", "state", "bin"])
          .execute();
        for (const { function_name: name, last_at, ...row } of rows) {
          const ofFunction = getOrCreate(sums, name, () => ({ ...noCalls(), lastAt: 0 }));
          addCalls(ofFunction, row);
          ofFunction.lastAt = Math.max(ofFunction.lastAt, last_at);
        }
      });
      const figuresOf = ({ lastAt, ...sums }: CallSums & { lastAt: number }): FunctionFigures => ({
        ...withPercentiles(sums),
        lastCalledAt: isoTime(lastAt),
      });
      return new Map([...sums].map(([name, ofFunction]) => [name, figuresOf(ofFunction)]));
    },

    /** One function's calls that ended in the range, including empty buckets. */
    async history(
      scope: AgentScope,
      functionName: string,
      range: TimeRange,
      buckets: Buckets,
    ): Promise<FunctionHistory["buckets"]> {
      const each = Array.from({ length: buckets.count }, () => ({ ...NO_CALLS, times: new Map() as Histogram }));
      await inSlices(range, buckets, async (part) => {
        const rows = await callsOf(engine, scope, part)
          .where("function_name", "=", functionName)
          .select([bucketIn(buckets, "finished_at").as("bucket"), ...binned(tookMs)])
          .groupBy(["function_name", "state", "bucket", "bin"])
          .execute();
        for (const { state, bucket, ...bin } of rows) {
          const sum = each[bucket]!;
          // Only ended calls are counted, and they do not wait for approvals.
          if (state !== null && state !== "waiting") sum[state] += bin.count;
          if (state !== "denied") addToBin(sum.times, bin);
        }
      });
      return each.map((sums, i) => ({ at: bucketTime(buckets, i), ...withPercentiles(sums) }));
    },
  };
}

const PARTS = 8;

/** Reads the range in eight statements, newest first. */
export const inParts = (range: TimeRange, read: (part: TimeRange) => Promise<void>): Promise<void> =>
  inSlices(range, { firstAt: range.from, widthMs: (range.to - range.from) / PARTS }, read);

const NO_CALLS = { succeeded: 0, failed: 0, denied: 0 };

/** The agent's other services may have connected sets in between. */
const SETS_SEARCHED = 20;

function setQueries(engine: Engine) {
  const { db } = engine;
  /** When the newest connection with the set was opened. */
  const opened = sql<number>`coalesce((select max(runtimes.opened_at) from runtimes
    where runtimes.agent_id = manifests.agent_id and runtimes.manifest_hash = manifests.hash), 0)`;
  const connected = sql<number>`case when exists (select 1 from runtimes
    where runtimes.agent_id = manifests.agent_id and runtimes.manifest_hash = manifests.hash
    and ${connectedNow(engine, "runtimes")}) then 1 else 0 end`;
  const ofAgent = ({ orgId, agentId }: AgentScope) =>
    db
      .selectFrom("manifests")
      .select(["manifests.hash", "manifests.body", FIRST_SEEN.as("first_seen"), connected.as("connected")])
      .where("manifests.org_id", "=", orgId)
      .where("manifests.agent_id", "=", agentId);
  return {
    /** Without a hash: the newest connection's set. Undefined if the agent has no such set. */
    async set(scope: AgentScope, manifestHash: string | undefined): Promise<StoredFunctionSet | undefined> {
      const row = await ofAgent(scope)
        .$if(manifestHash !== undefined, (sets) => sets.where("manifests.hash", "=", manifestHash!))
        .orderBy(connected, "desc")
        .orderBy(opened, "desc")
        .orderBy(FIRST_SEEN, "desc")
        .limit(1)
        .executeTakeFirst();
      return row && (await toSet(row));
    },

    /** A function's cases as the set's newest runtime reported them. */
    async reportedCases(
      { orgId, agentId }: AgentScope,
      { manifestHash, functionName }: { manifestHash: string; functionName: string },
    ): Promise<FunctionCase[]> {
      const row = await db
        .selectFrom("manifests")
        .select("reported_cases")
        .where(is({ org_id: orgId, agent_id: agentId, hash: manifestHash }))
        .executeTakeFirst();
      const all = row?.reported_cases ? fromJson(row.reported_cases) : [];
      return all.flatMap(({ functionName: of, ...one }) => (of === functionName ? [one] : []));
    },

    /** The newest set for the same services that first connected before this one. */
    async setBefore(scope: AgentScope, { manifestHash, manifest, firstSeenAt }: StoredFunctionSet) {
      const rows = await db
        .selectFrom(ofAgent(scope).as("listed"))
        .selectAll()
        .where((eb) => {
          const at = Date.parse(firstSeenAt);
          return eb.or([eb("first_seen", "<", at), eb.and([eb("first_seen", "=", at), eb("hash", "<", manifestHash)])]);
        })
        .orderBy("first_seen", "desc")
        .orderBy("hash", "desc")
        .limit(SETS_SEARCHED)
        .execute();
      for (const row of rows) {
        const set = await toSet(row);
        if (set.manifest.name === manifest.name) return set;
      }
      return undefined;
    },

    /** Newest first. */
    async sets(scope: AgentScope, asked: PageAsked): Promise<PageOf<FunctionSetVersion>> {
      const listed = db.selectFrom(ofAgent(scope).as("listed")).selectAll();
      const { items: rows, nextCursor } = await newestPage(listed, asked, { at: "first_seen", id: "hash" });
      const items: FunctionSetVersion[] = [];
      for (const row of rows) {
        const { manifest, ...set } = await toSet(row);
        items.push({ ...set, functions: manifest.functions.map(({ name }) => name) });
      }
      return { items, nextCursor };
    },
  };
}

type Row = Pick<Schema["manifests"], "hash" | "body"> & { first_seen: number; connected: number };

const toSet = async ({ hash, body, first_seen, connected }: Row) => ({
  manifestHash: hash,
  manifest: await manifestIn(body),
  firstSeenAt: isoTime(first_seen),
  /** True if a runtime with the set is connected now. */
  connected: connected === 1,
});

/** Counts for calls that ended in the range; the index on ended calls contains all columns that these queries read. */
export const callsOf = ({ db }: Engine, { orgId, agentId }: AgentScope, { from, to }: TimeRange) =>
  db
    .selectFrom("calls")
    .select((eb) => ["function_name", "state", eb.fn.max("finished_at").as("last_at")])
    .$narrowType<{ last_at: number }>()
    .where(is({ org_id: orgId, agent_id: agentId }))
    .where("finished_at", "is not", null)
    .where("finished_at", ">=", Math.ceil(from))
    .where("finished_at", "<", Math.ceil(to));
