import type { Runtime } from "@patchbay/protocol/console";
import { sql, type SqlBool } from "kysely";
import type { RuntimeReads } from "../../ports/console-agents.ts";
import { isoTime } from "../columns.ts";
import { parseCursor, toCursor } from "../page-cursor.ts";
import type { Engine, Schema } from "../schema.ts";
import { ago, connectedNow } from "./connected.ts";

const SHOWN_MS = 7 * 86_400_000;

/** When its newest link opened; 0 for one last seen by a version that did not note it. */
const OPENED = sql<number>`coalesce(opened_at, 0)`;

export function runtimeReads(engine: Engine): RuntimeReads {
  const { db, dialect } = engine;
  const open = sql<number>`case when ${connectedNow(engine, "runtimes")} then 1 else 0 end`;

  /** An agent's runtimes are few, so that they are ordered by what is no column. */
  const listed = (orgId: string, agentId: string) =>
    db
      .selectFrom("runtimes")
      .selectAll()
      .select([open.as("open"), OPENED.as("opened"), sql<number>`${dialect.now} - last_seen_at`.as("silent_ms")])
      .where("org_id", "=", orgId)
      .where("agent_id", "=", agentId)
      .where("last_seen_at", ">", ago(engine, SHOWN_MS));

  return {
    async list(orgId, agentId, { limit, cursor }) {
      const rows = await db
        .selectFrom(listed(orgId, agentId).as("listed"))
        .selectAll()
        .$if(cursor !== undefined, (narrowed) => narrowed.where(after(cursor!)))
        .orderBy("open", "desc")
        .orderBy("opened", "desc")
        .orderBy("instance_id", "desc")
        .limit(limit + 1)
        .execute();
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const calls = await callsInFlight(engine, orgId, agentId);
      return {
        items: page.map((row) => toRuntime(row, calls.get(row.instance_id) ?? 0)),
        nextCursor:
          rows.length > limit && last ? toCursor({ at: last.opened, id: `${last.open}${last.instance_id}` }) : null,
      };
    },
  };
}

/** The id in the cursor begins with whether the runtime was connected. */
function after(cursor: string) {
  const { at, id } = parseCursor(cursor);
  const open = id.startsWith("1") ? 1 : 0;
  const instanceId = id.slice(1);
  return sql<SqlBool>`(open < ${sql.lit(open)} or (open = ${sql.lit(open)}
    and (opened < ${at} or (opened = ${at} and instance_id < ${instanceId}))))`;
}

/** Calls without an outcome of runs that go on, by runtime. */
async function callsInFlight({ db }: Engine, orgId: string, agentId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom("runs")
    .innerJoin("calls", "calls.run_id", "runs.id")
    .select((eb) => ["calls.instance_id", eb.fn.countAll<number>().as("count")])
    .$narrowType<{ instance_id: string }>()
    .where("runs.finished_at", "is", null)
    .where("runs.status", "=", "running")
    .where("runs.org_id", "=", orgId)
    // An expression, lest an index of all the agent's runs is taken for that of the few which go on.
    .where((eb) => eb(eb.fn.coalesce("runs.agent_id", eb.val("")), "=", agentId))
    .where("calls.outcome", "is", null)
    .where("calls.instance_id", "is not", null)
    .groupBy("calls.instance_id")
    .execute();
  return new Map(rows.map(({ instance_id, count }) => [instance_id, count]));
}

type Row = Omit<Schema["runtimes"], "draining"> & { draining: number; open: number; opened: number; silent_ms: number };

function toRuntime(row: Row, inFlight: number): Runtime {
  const connected = row.open === 1;
  return {
    instanceId: row.instance_id,
    connected,
    draining: connected && row.draining === 1,
    replicaId: connected ? row.replica_id : null,
    sdk: row.sdk,
    manifestHash: row.manifest_hash,
    concurrency: row.concurrency,
    inFlight,
    connectedAt: connected && row.opened_at !== null ? isoTime(row.opened_at) : null,
    lastSeenAt: isoTime(row.last_seen_at),
    silentMs: Math.max(0, row.silent_ms),
  };
}
