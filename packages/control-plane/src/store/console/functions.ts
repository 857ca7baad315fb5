import type { FunctionFigures } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { FunctionReads, RoleCalls, StoredFunctionSet } from "../../ports/console-agents.ts";
import type { Buckets } from "../../ports/console-insight.ts";
import { fromJson, isoTime } from "../columns.ts";
import type { Engine, Schema } from "../schema.ts";
import { connectedNow } from "./connected.ts";
import { olderThan, pageFrom } from "./keyset.ts";
import { addToBin, binOf, type Histogram, percentile } from "./percentiles.ts";
import { inSlices, type Slice } from "./slices.ts";
import { wideningReads } from "./widenings.ts";

const FIRST_SEEN = sql<number>`coalesce(manifests.first_seen_at, manifests.created_at)`;

/** Function sets of an agent, and how their functions were called. */
export function functionReads(engine: Engine): FunctionReads {
  return {
    ...setReads(engine),
    ...wideningReads(engine),

    async figures(orgId, agentId, range) {
      const figures = new Map<string, FunctionFigures>();
      const times = new Map<string, Histogram>();
      await inParts(range, async (part) => {
        for (const row of await endedCalls(engine, orgId, agentId, part)) add(row);
      });

      function add({ function_name: name, state, bin, count, last_at }: EndedCalls): void {
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
        const histogram = times.get(name) ?? new Map<number, number>();
        times.set(name, histogram);
        addToBin(histogram, bin, count);
      }

      for (const [name, histogram] of times)
        Object.assign(figures.get(name)!, { p50Ms: percentile(histogram, 0.5), p95Ms: percentile(histogram, 0.95) });
      return figures;
    },

    async history(orgId, agentId, functionName, range, buckets) {
      const each = Array.from({ length: buckets.count }, () => ({ ...NO_CALLS, times: new Map<number, number>() }));
      await inSlices(range, buckets, async (part) => {
        for (const { state, bucket, bin, count } of await callsInBuckets(
          engine,
          orgId,
          agentId,
          part,
          buckets,
          functionName,
        )) {
          const sum = each[bucket]!;
          if (state !== null) sum[state] += count;
          if (state !== "denied") addToBin(sum.times, bin, count);
        }
      });
      return each.map(({ times, ...counts }) => ({
        ...counts,
        p50Ms: percentile(times, 0.5),
        p95Ms: percentile(times, 0.95),
      }));
    },

    async callsByRole(orgId, agentId, { range, ...asked }) {
      const pairs = new Map<string, RoleCalls>();
      let cut = false;
      if (asked.functions.length === 0) return { items: [], cut };
      await inParts(range, async (part) => {
        const rows = await callsOfRoles(engine, orgId, agentId, part, asked);
        cut ||= rows.length > asked.limit;
        for (const { function_name: functionName, role, state, count, last_at } of rows.slice(0, asked.limit)) {
          const key = JSON.stringify([functionName, role]);
          const pair = pairs.get(key) ?? { functionName, role, calls: 0, denied: 0, lastAt: 0 };
          pair[state === "denied" ? "denied" : "calls"] += count;
          pair.lastAt = Math.max(pair.lastAt, last_at);
          pairs.set(key, pair);
        }
      });
      const most = [...pairs.values()].toSorted((a, b) => b.calls + b.denied - (a.calls + a.denied));
      return { items: most.slice(0, asked.limit), cut: cut || most.length > asked.limit };
    },
  };
}

const PARTS = 8;

const inParts = (range: Slice, read: (part: Slice) => Promise<void>): Promise<void> =>
  inSlices(range, { firstAt: range.from, widthMs: (range.to - range.from) / PARTS }, read);

const NONE: FunctionFigures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

const NO_CALLS = { succeeded: 0, failed: 0, denied: 0 };

function setReads(engine: Engine): Pick<FunctionReads, "set" | "sets"> {
  const { db } = engine;
  /** The newest link of a runtime that has the set. */
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
    async set(orgId, agentId, manifestHash) {
      const row = await ofAgent(orgId, agentId)
        .$if(manifestHash !== undefined, (one) => one.where("manifests.hash", "=", manifestHash!))
        .orderBy(connected, "desc")
        .orderBy(opened, "desc")
        .orderBy(FIRST_SEEN, "desc")
        .limit(1)
        .executeTakeFirst();
      return row && toSet(row);
    },

    async sets(orgId, agentId, { limit, cursor }) {
      const rows = await db
        .selectFrom(ofAgent(orgId, agentId).as("listed"))
        .selectAll()
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, { at: "first_seen", id: "hash" })))
        .orderBy("first_seen", "desc")
        .orderBy("hash", "desc")
        .limit(limit + 1)
        .execute();
      const page = pageFrom(rows, { limit, floor: undefined, endOf: (row) => ({ at: row.first_seen, id: row.hash }) });
      return { items: page.rows.map(toSet), nextCursor: page.nextCursor };
    },
  };
}

type Row = Pick<Schema["manifests"], "hash" | "body"> & { first_seen: number; connected: number };

const toSet = ({ hash, body, first_seen, connected }: Row): StoredFunctionSet => ({
  manifestHash: hash,
  manifest: fromJson(body),
  firstSeenAt: first_seen,
  connected: connected === 1,
});

/** All that these statements read is in the index of ended calls. */
const callsOf = ({ db }: Engine, orgId: string, agentId: string, { from, to }: Slice) =>
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

interface Pairs {
  functions: readonly string[];
  roles: readonly string[];
  limit: number;
}

/** Those with the most calls, and one more than the limit where there are more. */
const callsOfRoles = (
  engine: Engine,
  orgId: string,
  agentId: string,
  part: Slice,
  { functions, roles, limit }: Pairs,
) =>
  callsOf(engine, orgId, agentId, part)
    .select("role")
    .where("function_name", "in", functions)
    .where((eb) => eb.or([eb("role", "is", null), ...(roles.length > 0 ? [eb("role", "in", roles)] : [])]))
    .groupBy(["function_name", "role", "state"])
    .orderBy("count", "desc")
    .limit(limit + 1)
    .execute();

const endedCalls = (engine: Engine, orgId: string, agentId: string, part: Slice) =>
  callsOf(engine, orgId, agentId, part)
    .select(binOf(sql<number>`(finished_at - created_at)`).as("bin"))
    .groupBy(["function_name", "state", "bin"])
    .execute();

const callsInBuckets = (
  engine: Engine,
  orgId: string,
  agentId: string,
  part: Slice,
  { firstAt, widthMs }: Buckets,
  functionName: string,
) =>
  callsOf(engine, orgId, agentId, part)
    .where("function_name", "=", functionName)
    .select(sql<number>`(finished_at - cast(${firstAt} as bigint)) / ${sql.lit(widthMs)}`.as("bucket"))
    .select(binOf(sql<number>`(finished_at - created_at)`).as("bin"))
    .groupBy(["function_name", "state", "bucket", "bin"])
    .execute();

type EndedCalls = Awaited<ReturnType<typeof endedCalls>>[number];
