import { sql } from "kysely";
import type { RuntimeStore } from "../ports/stores.ts";
import { fromJson, toJson } from "./columns.ts";
import type { Engine } from "./schema.ts";

export function runtimeStore({ db, dialect }: Engine): RuntimeStore {
  const { now } = dialect;
  return {
    async saveManifest(agentId, manifestHash, manifest) {
      await db
        .insertInto("manifests")
        .values((eb) => ({
          agent_id: agentId,
          hash: manifestHash,
          org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agentId),
          body: toJson(manifest),
          created_at: now,
        }))
        .onConflict((conflict) => conflict.columns(["agent_id", "hash"]).doNothing())
        .execute();
    },

    async getManifest(agentId, manifestHash) {
      const row = await db
        .selectFrom("manifests")
        .select("body")
        .where("agent_id", "=", agentId)
        .where("hash", "=", manifestHash)
        .executeTakeFirst();
      return row && fromJson(row.body);
    },

    async touchRuntime({ agentId, instanceId, manifestHash, connected }) {
      const seen = { manifest_hash: manifestHash, connected: connected ? 1 : 0, last_seen_at: now };
      await db
        .insertInto("runtimes")
        .values((eb) => ({
          agent_id: agentId,
          instance_id: instanceId,
          org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agentId),
          first_seen_at: now,
          ...seen,
        }))
        .onConflict((conflict) => conflict.columns(["agent_id", "instance_id"]).doUpdateSet(seen))
        .execute();
    },

    async lastSeenAgoMs(agentId) {
      const row = await db
        .selectFrom("runtimes")
        .select((eb) => sql<number | null>`${now} - ${eb.fn.max("last_seen_at")}`.as("ago"))
        .where("agent_id", "=", agentId)
        .executeTakeFirst();
      return row?.ago ?? undefined;
    },
  };
}
