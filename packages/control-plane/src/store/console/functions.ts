import type { FunctionFigures } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { FunctionReads, RoleCalls, StoredFunctionSet } from "../../ports/console-agents.ts";
import { fromJson, isoTime } from "../columns.ts";
import type { Engine, Schema } from "../schema.ts";
import { connectedNow } from "./connected.ts";
import { olderThan, pageFrom } from "./keyset.ts";
import { addToBin, binOf, type Histogram, percentile } from "./percentiles.ts";

const FIRST_SEEN = sql<number>`coalesce(manifests.first_seen_at, manifests.created_at)`;

/** Function sets of an agent, and how their functions were called. */
export function functionReads(engine: Engine): FunctionReads {
  return {
    ...setReads(engine),

    async figures(orgId, agentId, range) {
      const figures = new Map<string, FunctionFigures>();
      const times = new Map<string, Histogram>();
      for (const { function_name: name, state, bin, count, last_at } of await endedCalls(
        engine,
        orgId,
        agentId,
        range,
      )) {
        const sum = figures.get(name) ?? { ...NONE };
        figures.set(name, sum);
        sum.calls += count;
        const lastAt = isoTime(last_at);
        if (sum.lastCalledAt === null || sum.lastCalledAt < lastAt) sum.lastCalledAt = lastAt;
        if (state === "denied") {
          sum.denied += count;
          continue;
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

    async callsByRole(orgId, agentId, since) {
      const rows = await callsOf(engine, orgId, agentId)
        .select((eb) => ["function_name", "role", "state", eb.fn.countAll<number>().as("count")])
        .select((eb) => eb.fn.max("finished_at").as("last_at"))
        .$narrowType<{ last_at: number }>()
        .where("finished_at", ">=", since)
        .groupBy(["function_name", "role", "state"])
        .execute();
      return rows.map(({ function_name, role, state, count, last_at }): RoleCalls => ({
        functionName: function_name,
        role,
        calls: state === "denied" ? 0 : count,
        denied: state === "denied" ? count : 0,
        lastAt: last_at,
      }));
    },
  };
}

const NONE: FunctionFigures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

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

/** What the index of ended calls holds of one agent's. */
const callsOf = ({ db }: Engine, orgId: string, agentId: string) =>
  db
    .selectFrom("calls")
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .where("finished_at", "is not", null);

function endedCalls(engine: Engine, orgId: string, agentId: string, { from, to }: { from: number; to: number }) {
  const tookMs = sql<number>`(finished_at - created_at)`;
  return callsOf(engine, orgId, agentId)
    .select((eb) => ["function_name", "state", binOf(tookMs).as("bin"), eb.fn.countAll<number>().as("count")])
    .select((eb) => eb.fn.max("finished_at").as("last_at"))
    .$narrowType<{ last_at: number }>()
    .where("finished_at", ">=", from)
    .where("finished_at", "<", to)
    .groupBy(["function_name", "state", "bin"])
    .execute();
}
