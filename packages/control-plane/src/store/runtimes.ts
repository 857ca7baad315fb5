import { sql } from "kysely";
import type { ConnectedRuntime, RuntimeStore } from "../ports/stores.ts";
import { functionSetStore } from "./function-sets.ts";
import { idBatches } from "./in-batches.ts";
import { manifestStore } from "./manifests.ts";
import type { Engine } from "./schema.ts";
import { repeat } from "./transact.ts";

const SEEN_MS = 30_000;

type LinkMethod = "linkOpened" | "linksAlive" | "linkDraining" | "linkClosed" | "links" | "lastSeenAgoMs";

export function runtimeStore(engine: Engine): RuntimeStore {
  return { ...manifestStore(engine), ...functionSetStore(engine), ...links(engine) };
}

/** A runtime has one row: its link's id says whether what is told of a link still concerns it. */
function links(engine: Engine): Pick<RuntimeStore, LinkMethod> {
  const { db, dialect } = engine;
  const { now } = dialect;
  return {
    async linkOpened({ agentId, instanceId, connectionId, replicaId, manifestHash, concurrency, draining, ...rest }) {
      const link = {
        service: rest.service,
        deployment: rest.deployment ?? null,
        connection_id: connectionId,
        replica_id: replicaId,
        manifest_hash: manifestHash,
        concurrency,
        sdk: rest.sdk ?? null,
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
          ...link,
        }))
        .onConflict((conflict) => conflict.columns(["agent_id", "instance_id"]).doUpdateSet(link))
        .execute();
    },

    async linksAlive(connectionIds) {
      for (const ids of idBatches(connectionIds))
        await repeat(engine, () =>
          engine.urgent
            .updateTable("runtimes")
            .set({ last_seen_at: now })
            .where("connection_id", "in", ids)
            .where("connected", "=", 1)
            .execute(),
        );
    },

    async linkDraining(connectionId) {
      await db.updateTable("runtimes").set({ draining: 1 }).where("connection_id", "=", connectionId).execute();
    },

    async linkClosed(connectionId) {
      await db
        .updateTable("runtimes")
        .set({ connected: 0, last_seen_at: now })
        .where("connection_id", "=", connectionId)
        .where("connected", "=", 1)
        .execute();
    },

    async links(agentId) {
      const rows = await db
        .selectFrom("runtimes")
        .select(["agent_id", "instance_id", "service", "deployment", "connection_id", "replica_id"])
        .select(["manifest_hash", "concurrency", "draining"])
        .$narrowType<{ service: string; connection_id: string; replica_id: string; concurrency: number }>()
        .where("agent_id", "=", agentId)
        .where("connected", "=", 1)
        // A replica of a version that combined no services holds the others until they reconnect.
        .where("service", "is not", null)
        .where("last_seen_at", ">", sql<number>`${now} - ${sql.lit(SEEN_MS)}`)
        .orderBy("opened_at")
        .execute();
      return rows.map((row): ConnectedRuntime => ({
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
    },

    async lastSeenAgoMs(agentId, manifestHashes) {
      if (manifestHashes?.length === 0) return undefined;
      // A set has its place before its runtime is noted, so a set that was placed a moment ago has a runtime at once.
      const seen = db
        .selectFrom("runtimes")
        .select(["manifest_hash", "last_seen_at as at"])
        .where("agent_id", "=", agentId)
        .unionAll(
          db
            .selectFrom("function_sets")
            .select(["manifest_hash", "first_seen_at as at"])
            .where("agent_id", "=", agentId),
        );
      const row = await db
        .selectFrom(seen.as("seen"))
        .select((eb) => sql<number | null>`${now} - ${eb.fn.max("at")}`.as("ago"))
        .$if(manifestHashes !== undefined, (some) => some.where("manifest_hash", "in", manifestHashes!))
        .executeTakeFirst();
      return row?.ago ?? undefined;
    },
  };
}
