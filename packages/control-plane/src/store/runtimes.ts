import { sql } from "kysely";
import type { ConnectedRuntime, RuntimeStore } from "../ports/stores.ts";
import { idBatches } from "./columns.ts";
import { connectedNow } from "./connected.ts";
import { type Engine, repeat } from "./engine.ts";
import { functionSetStore } from "./function-sets.ts";
import { manifestStore } from "./manifests.ts";

/** Runtimes, their connections and their function sets. */
export function runtimeStore(engine: Engine): RuntimeStore {
  return {
    ...manifestStore(engine),
    ...functionSetStore(engine),
    ...connectionChanges(engine),
    connections: (agentId) => openConnections(engine, agentId),
    lastSeenAgoMs: (agentId, manifestHashes) => lastSeenAgoMs(engine, agentId, manifestHashes),
  };
}

type ConnectionChange = "connectionOpened" | "renewConnections" | "connectionDraining" | "connectionClosed";

/**
 * A runtime has one row, with the id of its newest connection. Every change names a connection id: the late close of a
 * connection that was replaced must not mark the runtime as disconnected.
 */
function connectionChanges(engine: Engine): Pick<RuntimeStore, ConnectionChange> {
  const { db, urgent, dialect } = engine;
  const { now } = dialect;
  return {
    async connectionOpened({
      agentId,
      instanceId,
      connectionId,
      replicaId,
      manifestHash,
      concurrency,
      draining,
      service,
      deployment = null,
      sdk = null,
      host = null,
    }) {
      const connection = {
        service,
        deployment,
        connection_id: connectionId,
        replica_id: replicaId,
        manifest_hash: manifestHash,
        concurrency,
        sdk,
        host,
        draining: draining ? 1 : 0,
        connected: 1,
        opened_at: now,
        last_seen_at: now,
      };
      await db
        .insertInto("runtimes")
        .values((eb) => ({
          agent_id: agentId,
          instance_id: instanceId,
          org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agentId),
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
        .where("connection_id", "=", connectionId)
        .where("connected", "=", 1)
        .execute();
    },
  };
}

async function openConnections(engine: Engine, agentId: string): Promise<ConnectedRuntime[]> {
  const rows = await engine.db
    .selectFrom("runtimes")
    .select(["agent_id", "instance_id", "service", "deployment", "connection_id", "replica_id"])
    .select(["manifest_hash", "concurrency", "draining"])
    .where("agent_id", "=", agentId)
    .where(connectedNow(engine, "runtimes"))
    .orderBy("opened_at")
    .execute();
  return rows.map((row) => ({
    agentId: row.agent_id,
    service: row.service,
    ...(row.deployment !== null && { deployment: row.deployment }),
    instanceId: row.instance_id,
    connectionId: row.connection_id,
    replicaId: row.replica_id,
    manifestHash: row.manifest_hash,
    concurrency: row.concurrency,
    draining: row.draining === 1,
  }));
}

async function lastSeenAgoMs(
  { db, dialect, health }: Engine,
  agentId: string,
  manifestHashes?: readonly string[],
): Promise<number | undefined> {
  if (manifestHashes?.length === 0) return undefined;
  // A function set is stored before its runtime. Counting sets too keeps a query from failing between the two statements.
  const seen = db
    .selectFrom("runtimes")
    .select(["manifest_hash", "last_seen_at as at"])
    .where("agent_id", "=", agentId)
    .unionAll(
      db.selectFrom("function_sets").select(["manifest_hash", "first_seen_at as at"]).where("agent_id", "=", agentId),
    );
  const row = await db
    .selectFrom(seen.as("seen"))
    .select((eb) => sql<number | null>`${dialect.now} - ${eb.fn.max("at")}`.as("ago"))
    .$if(manifestHashes !== undefined, (some) => some.where("manifest_hash", "in", manifestHashes!))
    .executeTakeFirst();
  return typeof row?.ago === "number" ? Math.max(0, row.ago - health.outageMs) : undefined;
}
