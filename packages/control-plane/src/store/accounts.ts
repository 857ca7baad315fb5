import { changedSettings } from "@patchbay/protocol";
import { sql, type ExpressionBuilder, type Selectable } from "kysely";
import type { AccountStore, Agent, Credential, Org } from "../ports/stores.ts";
import { fromJson, present, toJson } from "./columns.ts";
import { credentialRotation } from "./credential-rotation.ts";
import { idBatches } from "./in-batches.ts";
import type { CredentialRow, Engine, Schema } from "./schema.ts";
import { statement } from "./statement.ts";

type Accounts = Omit<AccountStore, "grant" | "balance" | "countQuery">;

/** Organisations, agents and credentials. */
export function accountStore(engine: Engine): Accounts {
  return { ...orgs(engine), ...agents(engine), ...credentials(engine), ...credentialRotation(engine) };
}

function orgs({ db, dialect }: Engine): Pick<Accounts, "createOrg" | "listOrgs" | "getOrg" | "renameOrg"> {
  return {
    async createOrg({ orgId, name, tier }) {
      const row = { id: orgId, name, tier, balance_micros: 0, created_at: dialect.now };
      await db.insertInto("orgs").values(row).execute();
    },
    async listOrgs() {
      const rows = await db.selectFrom("orgs").selectAll().orderBy("created_at").orderBy("id").execute();
      return rows.map(toOrg);
    },
    async getOrg(orgId) {
      const row = await db.selectFrom("orgs").selectAll().where("id", "=", orgId).executeTakeFirst();
      return row && toOrg(row);
    },
    async renameOrg(orgId, name) {
      await db.updateTable("orgs").set({ name }).where("id", "=", orgId).execute();
    },
  };
}

type AgentMethod = "createAgent" | "listAgents" | "getAgent" | "updateAgent" | "deleteAgent";

function agents(engine: Engine): Pick<Accounts, AgentMethod> {
  const { db, dialect } = engine;
  const living = () => db.selectFrom("agents").selectAll().where("deleted_at", "is", null);
  const livingById = statement((p: { agentId: string }) => living().where("id", "=", p.agentId));
  return {
    async createAgent({ agentId, orgId, name, instructions }) {
      const row = { id: agentId, org_id: orgId, name, instructions, created_at: dialect.now };
      await db.insertInto("agents").values(row).execute();
    },
    async listAgents(orgId) {
      const query = orgId === undefined ? living() : living().where("org_id", "=", orgId);
      const rows = await query.orderBy("created_at").orderBy("id").execute();
      return rows.map(toAgent);
    },
    async getAgent(agentId) {
      const [row] = await livingById(engine, { agentId });
      return row && toAgent(row);
    },
    async updateAgent(agentId, { accessChanges, settings = {}, ...change }) {
      for (;;) {
        const before = await livingById(engine, { agentId });
        if (!before[0]) return undefined;
        const stored = before[0].settings;
        const after = await db
          .updateTable("agents")
          .set({
            ...change,
            ...(accessChanges !== undefined && { access_changes: accessChanges }),
            settings: toJson(changedSettings(fromJson(stored), settings)),
          })
          .where("id", "=", agentId)
          .where("deleted_at", "is", null)
          // Settings that another change has replaced since they were read are read again.
          .where("settings", "=", stored)
          .returningAll()
          .executeTakeFirst();
        if (after) return { before: toAgent(before[0]), after: toAgent(after) };
      }
    },
    async deleteAgent(agentId) {
      const deleted = await db
        .updateTable("agents")
        .set({ deleted_at: dialect.now })
        .where("id", "=", agentId)
        .where("deleted_at", "is", null)
        .returning("id")
        .executeTakeFirst();
      return deleted !== undefined;
    },
  };
}

type CredentialMethod =
  | "createCredential"
  | "findCredential"
  | "listCredentials"
  | "revokeCredential"
  | "validCredentials"
  | "touchCredential";

const TOUCH_MS = 60_000;

function credentials(engine: Engine): Pick<Accounts, CredentialMethod> {
  const { db, dialect } = engine;
  const { now } = dialect;
  const ofLivingAgents = () =>
    db
      .selectFrom("credentials")
      .innerJoin("agents", "agents.id", "credentials.agent_id")
      .where("agents.deleted_at", "is", null);
  const joined = () =>
    ofLivingAgents().innerJoin("orgs", "orgs.id", "credentials.org_id").selectAll("credentials").select("orgs.tier");
  const valid = (eb: ExpressionBuilder<Schema, "credentials">) =>
    eb.and([
      eb("credentials.revoked_at", "is", null),
      eb.or([eb("credentials.expires_at", "is", null), eb("credentials.expires_at", ">", now)]),
    ]);
  const validByHash = statement((p: Pick<CredentialRow, "kind" | "hash">) =>
    joined().where("credentials.hash", "=", p.hash).where("credentials.kind", "=", p.kind).where(valid),
  );
  return {
    async createCredential({ credentialId, kind, agentId, hash, hint, roles, label, expiresAt }) {
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
          label: label ?? null,
          created_at: now,
          expires_at: expiresAt ?? null,
        }))
        .execute();
    },
    async findCredential(kind, hash) {
      const [row] = await validByHash(engine, { kind, hash });
      return row && toCredential(row);
    },
    async listCredentials(kind, agentId) {
      const rows = await joined()
        .where("credentials.agent_id", "=", agentId)
        .where("credentials.kind", "=", kind)
        .orderBy("credentials.created_at")
        .orderBy("credentials.id")
        .execute();
      return rows.map(toCredential);
    },
    async revokeCredential(kind, credentialId) {
      const revoked = await db
        .updateTable("credentials")
        .set({ revoked_at: sql<number>`coalesce(revoked_at, ${now})` })
        .where("id", "=", credentialId)
        .where("kind", "=", kind)
        .returning(["org_id", "agent_id"])
        .executeTakeFirst();
      return revoked && { orgId: revoked.org_id, agentId: revoked.agent_id };
    },
    async validCredentials(credentialIds) {
      const found = new Set<string>();
      for (const ids of idBatches(credentialIds)) {
        const rows = await ofLivingAgents()
          .select("credentials.id")
          .where("credentials.id", "in", ids)
          .where(valid)
          .execute();
        for (const { id } of rows) found.add(id);
      }
      return found;
    },
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

function toOrg(row: Schema["orgs"]): Org {
  return { orgId: row.id, name: row.name, tier: row.tier };
}

function toAgent(row: Selectable<Schema["agents"]>): Agent {
  const { id: agentId, org_id: orgId, name, instructions, access_changes: accessChanges } = row;
  return { agentId, orgId, name, instructions, accessChanges, settings: fromJson(row.settings) };
}

function toCredential(row: CredentialRow & { tier: string }): Credential {
  return {
    credentialId: row.id,
    kind: row.kind,
    orgId: row.org_id,
    tier: row.tier,
    agentId: row.agent_id,
    hash: row.hash,
    hint: row.hint,
    createdAt: row.created_at,
    ...present({
      roles: row.roles === null ? null : fromJson(row.roles),
      label: row.label,
      expiresAt: row.expires_at,
      lastUsedAt: row.last_used_at,
      revokedAt: row.revoked_at,
    }),
  };
}
