import { type ExpressionBuilder, sql } from "kysely";
import type {
  AccountStore,
  Credential,
  CredentialKind,
  NewCredential,
  RotatedCredential,
} from "@patchbay/engine/ports/store/stores";
import { makeDue } from "../calls/approvals.ts";
import { type AgentSettings } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { fromJson, inBatches, type Json, withoutNulls } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { earliest, endOfMaker, haveSameHolder, lineageIn, makersOf, replace, touch } from "./holders.ts";
import type { Schema } from "../tables/schema.ts";
import { credentialColumns, type CredentialRow } from "../tables/credentials.ts";
import { sharedRead } from "../shared-reads.ts";
import { is, statement } from "../statement.ts";

/** API keys, runtime keys and access tokens. Secrets are stored only as hashes. */
export function credentialStore(engine: Engine) {
  const { db, dialect } = engine;
  const { now } = dialect;
  return {
    ...credentialReads(engine),

    async createCredential(credential) {
      const { agentId, expiresAt, createdBy } = credential;
      const expires_at = earliest(expiresAt, await endOfMaker(engine, createdBy));
      await db
        .insertInto("credentials")
        .values((eb) => ({
          ...credentialColumns.someOf(credential),
          org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agentId),
          created_at: now,
          expires_at,
        }))
        // Concurrent first requests from one caller store the same credential; two secrets never share a hash.
        .$if(credential.kind === "caller", (insert) => insert.onConflict((conflict) => conflict.doNothing()))
        .execute();
      return expires_at;
    },

    rotateCredential: (kind, credentialId, fresh, overlapMs) =>
      transact(engine, (trx) => rotate(trx, { kind, credentialId, fresh, overlapMs })),

    revokeCredential: (kind, credentialId) =>
      transact(engine, async (trx) => {
        const revoked = await trx.db
          .updateTable("credentials")
          .set({ revoked_at: sql<number>`coalesce(revoked_at, ${now})` })
          .where(is({ id: credentialId, kind }))
          .returning(["org_id", "agent_id", (eb) => eb.fn.coalesce("lineage", "id").as("lineage")])
          .executeTakeFirst();
        if (!revoked) return undefined;
        await makeDue(trx, (eb) => eb("key_id", "in", lineageOf(trx, revoked.lineage).select("id")));
        return { orgId: revoked.org_id, agentId: revoked.agent_id };
      }),

    touchCredential: (credentialId) => touch(engine, "credentials", credentialId),
  } satisfies Partial<AccountStore>;
}

/** Deleting an agent does not touch its credentials, so every read excludes credentials of deleted agents. */
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

/** A setting as `toJson` writes it: parsing the settings is not possible in a condition. */
const KEYLESS = '%"callers":"keyless"%';

/** Condition for credentials that are neither revoked nor expired; a caller's only while its agent needs no key. */
export const isValid =
  ({ dialect }: Engine) =>
  (eb: ExpressionBuilder<Schema, "credentials" | "agents">) =>
    eb.and([
      eb.or([eb("credentials.kind", "<>", "caller"), eb("agents.settings", "like", KEYLESS)]),
      eb("credentials.revoked_at", "is", null),
      eb.or([eb("credentials.expires_at", "is", null), eb("credentials.expires_at", ">", dialect.now)]),
    ]);

function credentialReads(engine: Engine) {
  const validByHash = sharedRead(
    statement((p: Pick<CredentialRow, "kind" | "hash">) =>
      withTier(engine)
        .where(is({ "credentials.hash": p.hash, "credentials.kind": p.kind }))
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
        .where(is({ "credentials.agent_id": agentId, "credentials.kind": kind }))
        .orderBy("credentials.created_at")
        .orderBy("credentials.id")
        .execute();
      const makers = await makersOf(engine, rows.map(lineageIn));
      return rows.map((row) => ({ ...toCredential(row), ...present({ makers: makers.get(lineageIn(row)) }) }));
    },

    async validCredentials(credentialIds) {
      const valid = ofExistingAgents(engine).select("credentials.id").where(isValid(engine));
      const rows = await inBatches(credentialIds, (ids) => valid.where("credentials.id", "in", ids).execute());
      return new Set(rows.map(({ id }) => id));
    },

    haveSameHolder: (keyId, asked) => haveSameHolder(engine, keyId, asked),

    mayContinue: (run) => mayContinue(engine, run),
  } satisfies Partial<AccountStore>;
}

const lineageOf = ({ db }: Engine, lineage: string) =>
  db.selectFrom("credentials").where((eb) => eb.or([eb("id", "=", lineage), eb("lineage", "=", lineage)]));

/**
 * Whether a run may continue. Locks what it reads: a step that parks a run either sees a revocation, or the revocation
 * comes after the step and finds the run waiting.
 */
export async function mayContinue(
  engine: Engine,
  { agentId, keyId, heldBy }: Parameters<AccountStore["mayContinue"]>[0],
): Promise<boolean> {
  const { db, dialect } = engine;
  const agents = db.selectFrom("agents").select(["deleted_at", "settings"]).where("id", "=", agentId);
  const agent = await dialect.lockShared(agents).executeTakeFirst();
  if (agent?.deleted_at !== null) return false;
  const credentials = db
    .selectFrom("credentials")
    .select((eb) => ["kind", "revoked_at", eb.fn.coalesce("lineage", "id").as("lineage")])
    .where("id", "=", keyId);
  const own = await dialect.lockShared(credentials).executeTakeFirst();
  if (!own) {
    const members = db.selectFrom("members").select("removed_at").where("id", "=", keyId);
    const member = await dialect.lockShared(members).executeTakeFirst();
    return (member?.removed_at ?? null) === null;
  }
  if (own.kind === "caller" && ofCallers(agent.settings).callers !== "keyless") return false;
  const successors = lineageOf(engine, own.lineage)
    .select(["roles", "created_at", "revoked_at"])
    .orderBy("created_at", "desc")
    .orderBy("id", "desc");
  const lineage = await dialect.lockShared(successors).execute();
  const newest = lineage[0]!;
  // A rotation without an overlap revokes the old credential at the same moment as it creates the new one.
  const isReplaced = own.revoked_at === null || lineage.some(({ created_at: at }) => at === own.revoked_at);
  const pinned = newest.roles === null ? undefined : fromJson(newest.roles);
  const mayState = !heldBy || !pinned || heldBy.some((role) => pinned.includes(role));
  return isReplaced && newest.revoked_at === null && mayState;
}

interface Rotation {
  kind: CredentialKind;
  credentialId: string;
  fresh: Pick<NewCredential, "credentialId" | "hash" | "hint" | "createdBy">;
  overlapMs: number;
}

/** Adds a credential with a new secret and ends the old one. */
async function rotate(
  trx: Engine,
  { kind, credentialId, fresh, overlapMs }: Rotation,
): Promise<RotatedCredential | undefined> {
  const found = await ofExistingAgents(trx)
    .selectAll("credentials")
    .select(trx.dialect.now.as("now"))
    .where(is({ "credentials.id": credentialId, "credentials.kind": kind }))
    .executeTakeFirst();
  if (!found) return undefined;
  const { now, ...old } = found;
  const ended = old.revoked_at !== null || (old.expires_at !== null && old.expires_at <= now);
  if (ended) return { kind: "over" };
  const { oldEndsAt, expires_at, row } = await replace(trx, "credentials", found, {
    overlapMs,
    createdBy: fresh.createdBy,
  });
  await trx.db
    .insertInto("credentials")
    .values({ ...old, ...row, ...credentialColumns.someOf(fresh) })
    .execute();
  const { roles, can } = credentialColumns.recordOf(old);
  const optional = withoutNulls({ roles, can, expiresAt: expires_at });
  return { kind: "rotated", orgId: old.org_id, agentId: old.agent_id, oldEndsAt, ...optional };
}

/** Settings may hold a large schema, which is not worth parsing for every request. */
const ofCallers = (settings: Json<AgentSettings>): Pick<AgentSettings, "callers" | "callerClaims"> =>
  settings.includes('"caller') ? fromJson(settings) : {};

export function toCredential(row: CredentialRow & { tier: string; settings: Json<AgentSettings> }): Credential {
  const { callers, callerClaims } = ofCallers(row.settings);
  return {
    ...credentialColumns.recordOf(row),
    tier: row.tier,
    ...(callers === "required" && { needsProof: true }),
    ...present({ callerClaims }),
  };
}
