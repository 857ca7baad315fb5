import { type ExpressionBuilder, sql } from "kysely";
import type { AccountStore, Credential, CredentialKind, NewCredential, RotatedCredential } from "../ports/stores.ts";
import { makeDue } from "./approvals.ts";
import type { AgentSettings } from "@patchbay/protocol";
import { fromJson, idBatches, type Json, withoutNulls, toJson } from "./columns.ts";
import { type Engine, transact } from "./engine.ts";
import type { CredentialRow, Schema } from "./schema.ts";
import { sharedRead } from "./shared-reads.ts";
import { statement } from "./statement.ts";

type CredentialMethod =
  | "createCredential"
  | "findCredential"
  | "listCredentials"
  | "revokeCredential"
  | "rotateCredential"
  | "validCredentials"
  | "mayContinue"
  | "haveSameHolder"
  | "touchCredential";

const TOUCH_MS = 60_000;

/** API keys, runtime keys and access tokens. Only hashes of their secrets are stored. */
export function credentialStore(engine: Engine): Pick<AccountStore, CredentialMethod> {
  const { db, dialect } = engine;
  const { now } = dialect;
  return {
    ...credentialReads(engine),

    async createCredential({ credentialId, kind, agentId, hash, hint, roles, can, label, expiresAt }) {
      await db
        .insertInto("credentials")
        .values((eb) => ({
          id: credentialId,
          kind,
          org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agentId),
          agent_id: agentId,
          hash,
          hint,
          roles: roles ? toJson(roles) : null,
          can: can ? toJson(can) : null,
          label: label ?? null,
          created_at: now,
          expires_at: expiresAt ?? null,
        }))
        .execute();
    },

    rotateCredential: (kind, credentialId, fresh, overlapMs) =>
      transact(engine, (trx) => rotate(trx, { kind, credentialId, fresh, overlapMs })),

    revokeCredential: (kind, credentialId) =>
      transact(engine, async (trx) => {
        const revoked = await trx.db
          .updateTable("credentials")
          .set({ revoked_at: sql<number>`coalesce(revoked_at, ${now})` })
          .where("id", "=", credentialId)
          .where("kind", "=", kind)
          .returning(["org_id", "agent_id", (eb) => eb.fn.coalesce("lineage", "id").as("lineage")])
          .executeTakeFirst();
        if (!revoked) return undefined;
        await makeDue(trx, (eb) => eb("key_id", "in", lineageOf(trx, revoked.lineage).select("id")));
        return { orgId: revoked.org_id, agentId: revoked.agent_id };
      }),

    async touchCredential(credentialId) {
      await db
        .updateTable("credentials")
        .set({ last_used_at: now })
        .where("id", "=", credentialId)
        .where((eb) =>
          eb.or([eb("last_used_at", "is", null), eb("last_used_at", "<=", sql<number>`${now} - ${sql.lit(TOUCH_MS)}`)]),
        )
        .execute();
    },
  };
}

/** Deleting an agent does not touch its credentials; every read therefore excludes those of deleted agents. */
export const ofExistingAgents = ({ db }: Engine) =>
  db
    .selectFrom("credentials")
    .innerJoin("agents", "agents.id", "credentials.agent_id")
    .where("agents.deleted_at", "is", null);

/** What `toCredential` reads. */
export const withTier = (engine: Engine) =>
  ofExistingAgents(engine)
    .innerJoin("orgs", "orgs.id", "credentials.org_id")
    .selectAll("credentials")
    .select(["orgs.tier", "agents.settings"]);

/** Condition for credentials that are neither revoked nor expired. */
export const isValid =
  ({ dialect }: Engine) =>
  (eb: ExpressionBuilder<Schema, "credentials">) =>
    eb.and([
      eb("credentials.revoked_at", "is", null),
      eb.or([eb("credentials.expires_at", "is", null), eb("credentials.expires_at", ">", dialect.now)]),
    ]);

function credentialReads(
  engine: Engine,
): Pick<AccountStore, "findCredential" | "listCredentials" | "validCredentials" | "mayContinue" | "haveSameHolder"> {
  const { db } = engine;
  const validByHash = sharedRead(
    statement((p: Pick<CredentialRow, "kind" | "hash">) =>
      withTier(engine)
        .where("credentials.hash", "=", p.hash)
        .where("credentials.kind", "=", p.kind)
        .where(isValid(engine)),
    ),
  );
  return {
    async findCredential(kind, hash) {
      const [row] = await validByHash(engine, { kind, hash });
      return row && toCredential(row);
    },

    async listCredentials(kind, agentId) {
      const rows = await withTier(engine)
        .where("credentials.agent_id", "=", agentId)
        .where("credentials.kind", "=", kind)
        .orderBy("credentials.created_at")
        .orderBy("credentials.id")
        .execute();
      return rows.map(toCredential);
    },

    async validCredentials(credentialIds) {
      const found = new Set<string>();
      for (const ids of idBatches(credentialIds)) {
        const rows = await ofExistingAgents(engine)
          .select("credentials.id")
          .where("credentials.id", "in", ids)
          .where(isValid(engine))
          .execute();
        for (const { id } of rows) found.add(id);
      }
      return found;
    },

    async haveSameHolder(keyId, otherId) {
      const rows = await db
        .selectFrom("credentials")
        .select((eb) => eb.fn.coalesce("lineage", "id").as("lineage"))
        .where("id", "in", [keyId, otherId])
        .execute();
      return keyId === otherId || (rows.length === 2 && rows[0]!.lineage === rows[1]!.lineage);
    },

    mayContinue: (run) => mayContinue(engine, run),
  };
}

const lineageOf = ({ db }: Engine, lineage: string) =>
  db.selectFrom("credentials").where((eb) => eb.or([eb("id", "=", lineage), eb("lineage", "=", lineage)]));

/**
 * Whether a run may continue. Locks what it reads: a step that parks a run either sees a revocation, or that revocation comes after
 * the step and finds the run waiting.
 */
export async function mayContinue(
  engine: Engine,
  { agentId, keyId, role }: Parameters<AccountStore["mayContinue"]>[0],
): Promise<boolean> {
  const { db, dialect } = engine;
  const agents = db.selectFrom("agents").select("deleted_at").where("id", "=", agentId);
  const agent = await dialect.lockShared(agents).executeTakeFirst();
  if (agent?.deleted_at !== null) return false;
  const credentials = db
    .selectFrom("credentials")
    .select((eb) => ["revoked_at", eb.fn.coalesce("lineage", "id").as("lineage")])
    .where("id", "=", keyId);
  const own = await dialect.lockShared(credentials).executeTakeFirst();
  if (!own) {
    const members = db.selectFrom("members").select("removed_at").where("id", "=", keyId);
    const member = await dialect.lockShared(members).executeTakeFirst();
    return (member?.removed_at ?? null) === null;
  }
  const successors = lineageOf(engine, own.lineage)
    .select(["roles", "created_at", "revoked_at"])
    .orderBy("created_at", "desc")
    .orderBy("id", "desc");
  const lineage = await dialect.lockShared(successors).execute();
  const newest = lineage[0]!;
  // A rotation without an overlap revokes the old credential at the moment at which it makes the new one.
  const isReplaced = own.revoked_at === null || lineage.some(({ created_at: at }) => at === own.revoked_at);
  const mayState = role === undefined || newest.roles === null || fromJson(newest.roles).includes(role);
  return isReplaced && newest.revoked_at === null && mayState;
}

interface Rotation {
  kind: CredentialKind;
  credentialId: string;
  fresh: Pick<NewCredential, "credentialId" | "hash" | "hint">;
  overlapMs: number;
}

/** Adds a credential with a new secret and ends the old one. */
async function rotate(
  trx: Engine,
  { kind, credentialId, fresh, overlapMs }: Rotation,
): Promise<RotatedCredential | undefined> {
  const found = await findOld(trx, kind, credentialId);
  if (!found) return undefined;
  const { now, ...old } = found;
  const ended = old.revoked_at !== null || (old.expires_at !== null && old.expires_at <= now);
  if (ended) return { kind: "over" };
  const oldEndsAt = Math.min(now + overlapMs, old.expires_at ?? Number.MAX_SAFE_INTEGER);
  const expires_at = old.expires_at === null ? null : now + old.expires_at - old.created_at;
  await end(trx, credentialId, overlapMs === 0 ? { revoked_at: now } : { expires_at: oldEndsAt });
  const { credentialId: id, hash, hint } = fresh;
  // Idempotency keys belong to the lineage: a client that repeats a query with its new key must not start a second run.
  const lineage = old.lineage ?? old.id;
  const secret = { id, hash, hint, created_at: now, expires_at, last_used_at: null, revoked_at: null, lineage };
  await trx.db
    .insertInto("credentials")
    .values({ ...old, ...secret })
    .execute();
  const optional = withoutNulls({
    roles: old.roles === null ? null : fromJson(old.roles),
    can: old.can === null ? null : fromJson(old.can),
    expiresAt: expires_at,
  });
  return { kind: "rotated", orgId: old.org_id, agentId: old.agent_id, oldEndsAt, ...optional };
}

function findOld({ db, dialect }: Engine, kind: CredentialKind, credentialId: string) {
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

/** Skips a credential that was revoked since it was read: the overlap must not make it valid again. */
async function end({ db }: Engine, id: string, change: { revoked_at: number } | { expires_at: number }): Promise<void> {
  await db.updateTable("credentials").set(change).where("id", "=", id).where("revoked_at", "is", null).execute();
}

/** Settings may hold a large schema, which is not worth parsing for every request. */
const needsProof = (settings: Json<AgentSettings>): boolean =>
  settings.includes('"callers"') && fromJson(settings).callers === "required";

export function toCredential(row: CredentialRow & { tier: string; settings: Json<AgentSettings> }): Credential {
  return {
    credentialId: row.id,
    kind: row.kind,
    orgId: row.org_id,
    tier: row.tier,
    agentId: row.agent_id,
    hash: row.hash,
    hint: row.hint,
    createdAt: row.created_at,
    ...(needsProof(row.settings) && { needsProof: true }),
    ...withoutNulls({
      roles: row.roles === null ? null : fromJson(row.roles),
      can: row.can === null ? null : fromJson(row.can),
      label: row.label,
      expiresAt: row.expires_at,
      lastUsedAt: row.last_used_at,
      revokedAt: row.revoked_at,
      lineage: row.lineage,
    }),
  };
}
