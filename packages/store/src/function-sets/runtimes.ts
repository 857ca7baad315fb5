import type { LastSeen } from "@patchbay/engine/ports/service-times";
import type { ConnectedRuntime, RuntimeStore } from "@patchbay/engine/ports/store/stores";
import { sql } from "kysely";
import { idBatches } from "../columns.ts";
import { connectedNow, isGone } from "./connected.ts";
import { type Engine, repeat } from "../engine.ts";
import { functionSetStore } from "./function-sets.ts";
import { manifestStore } from "./manifests.ts";
import { recordServed, unservedMs } from "./served.ts";
import { registeredColumns, runtimeColumns } from "../tables/schema.ts";
import { is } from "../statement.ts";

/** Runtimes, their connections and their function sets. */
export function runtimeStore(engine: Engine): RuntimeStore {
  return {
    ...manifestStore(engine),
    ...functionSetStore(engine),
    ...connectionChanges(engine),
    connections: (agentId) => openConnections(engine, agentId),
    async lastSeen(agentId, manifestHashes) {
      const seen = await lastSeen(engine, agentId, manifestHashes);
      return seen && aged(engine, seen);
    },
    async isGone(agentId, instanceId) {
      const gone = isGone(engine, { agent: sql.val(agentId), instance: sql.val(instanceId) });
      const row = await engine.db.selectNoFrom(sql<number>`case when ${gone} then 1 else 0 end`.as("gone")).execute();
      return row[0]?.gone === 1;
    },
    async recordServed({ begins }) {
      await recordServed(engine, { begins });
      if (begins) await engine.db.updateTable("runtimes").set({ connected: 0 }).where("connected", "=", 1).execute();
    },
  };
}

/**
 * A runtime has one row, with its newest connection's id. Every change names a connection id: the late close of a
 * replaced connection must not mark the runtime as disconnected.
 */
function connectionChanges(engine: Engine) {
  const { db, urgent, dialect } = engine;
  const { now } = dialect;
  return {
    async connectionOpened(runtime) {
      const { agent_id, instance_id, ...registered } = registeredColumns.rowOf(runtime);
      const connection = { ...registered, connected: 1, opened_at: now, last_seen_at: now };
      await db
        .insertInto("runtimes")
        .values((eb) => ({
          agent_id,
          instance_id,
          org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agent_id),
          first_seen_at: now,
          ...connection,
        }))
        .onConflict((conflict) => conflict.columns(["agent_id", "instance_id"]).doUpdateSet(connection))
        .execute();
    },

    async renewConnections(connectionIds) {
      for (const ids of idBatches(connectionIds))
        await repeat(engine, () =>
          urgent
            .updateTable("runtimes")
            .set({ last_seen_at: now })
            .where("connection_id", "in", ids)
            .where("connected", "=", 1)
            .execute(),
        );
    },

    async connectionDraining(connectionId) {
      await db.updateTable("runtimes").set({ draining: 1 }).where("connection_id", "=", connectionId).execute();
    },

    async connectionClosed(connectionId) {
      await db
        .updateTable("runtimes")
        .set({ connected: 0, last_seen_at: now })
        .where(is({ connection_id: connectionId, connected: 1 }))
        .execute();
    },
  } satisfies Partial<RuntimeStore>;
}

async function openConnections(engine: Engine, agentId: string): Promise<ConnectedRuntime[]> {
  const rows = await engine.db
    .selectFrom("runtimes")
    .select(runtimeColumns.names)
    .where("agent_id", "=", agentId)
    .where(connectedNow(engine, "runtimes"))
    .orderBy("opened_at")
    .execute();
  return rows.map(runtimeColumns.recordOf);
}

async function lastSeen(
  { db, dialect }: Engine,
  agentId: string,
  manifestHashes?: readonly string[],
): Promise<{ at: number; now: number } | undefined> {
  if (manifestHashes?.length === 0) return undefined;
  // A function set is stored before its runtime. Counting sets too prevents a query from failing between the two
  // statements.
  const seen = db
    .selectFrom("runtimes")
    .select(["manifest_hash", "last_seen_at as at"])
    .where("agent_id", "=", agentId)
    .unionAll(
      db.selectFrom("function_sets").select(["manifest_hash", "first_seen_at as at"]).where("agent_id", "=", agentId),
    );
  const row = await db
    .selectFrom(seen.as("seen"))
    .select((eb) => [eb.fn.max<number | null>("at").as("at"), dialect.now.as("now")])
    .$if(manifestHashes !== undefined, (some) => some.where("manifest_hash", "in", manifestHashes!))
    .executeTakeFirst();
  return typeof row?.at === "number" ? { at: row.at, now: row.now } : undefined;
}

function aged(engine: Engine, { at, now }: { at: number; now: number }): LastSeen {
  const { served } = engine.health;
  const ago = { at, agoMs: Math.max(0, now - at - unservedMs(engine, at, now)) };
  return served && at < served.since ? { ...ago, startedAgoMs: Math.max(0, now - served.since) } : ago;
}
