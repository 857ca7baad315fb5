import type { AccountStore, RotatedCredential } from "../ports/stores.ts";
import { fromJson, present } from "./columns.ts";
import type { CredentialRow, Engine } from "./schema.ts";
import { transact } from "./transact.ts";

/** Puts a new secret in a credential's place. */
export function credentialRotation(engine: Engine): Pick<AccountStore, "rotateCredential"> {
  return {
    rotateCredential: (kind, credentialId, fresh, overlapMs) =>
      transact(engine, async (trx) => {
        const found = await findOld(trx, kind, credentialId);
        if (!found) return undefined;
        const { now, ...old } = found;
        const over = old.revoked_at !== null || (old.expires_at !== null && old.expires_at <= now);
        if (over) return { kind: "over" };
        const oldEndsAt = Math.min(now + overlapMs, old.expires_at ?? Number.MAX_SAFE_INTEGER);
        const expires_at = old.expires_at === null ? null : now + old.expires_at - old.created_at;
        await end(trx, credentialId, overlapMs === 0 ? { revoked_at: now } : { expires_at: oldEndsAt });
        const { credentialId: id, hash, hint } = fresh;
        const lineage = old.lineage ?? old.id;
        const secret = { id, hash, hint, created_at: now, expires_at, last_used_at: null, revoked_at: null, lineage };
        await trx.db
          .insertInto("credentials")
          .values({ ...old, ...secret })
          .execute();
        return rotatedOf({ ...old, ...secret }, oldEndsAt);
      }),
  };
}

function findOld({ db, dialect }: Engine, kind: CredentialRow["kind"], credentialId: string) {
  return db
    .selectFrom("credentials")
    .innerJoin("agents", "agents.id", "credentials.agent_id")
    .selectAll("credentials")
    .select(dialect.now.as("now"))
    .where("credentials.id", "=", credentialId)
    .where("credentials.kind", "=", kind)
    .where("agents.deleted_at", "is", null)
    .executeTakeFirst();
}

/** It may have been revoked meanwhile, which stays. */
async function end({ db }: Engine, id: string, change: { revoked_at: number } | { expires_at: number }): Promise<void> {
  await db.updateTable("credentials").set(change).where("id", "=", id).where("revoked_at", "is", null).execute();
}

function rotatedOf({ org_id, agent_id, roles, expires_at }: CredentialRow, oldEndsAt: number): RotatedCredential {
  const optional = present({ roles: roles === null ? null : fromJson(roles), expiresAt: expires_at });
  return { kind: "rotated", orgId: org_id, agentId: agent_id, oldEndsAt, ...optional };
}
