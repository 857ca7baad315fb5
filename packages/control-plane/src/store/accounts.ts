import { applySettingsChange } from "@patchbay/protocol";
import { type Selectable, sql } from "kysely";
import type { AccountStore, Agent, Org } from "../ports/stores.ts";
import { fromJson, toJson } from "./columns.ts";
import { credentialStore } from "./credentials.ts";
import type { Engine } from "./engine.ts";
import type { Schema } from "./schema.ts";
import { statement } from "./statement.ts";

type Accounts = Omit<AccountStore, "grant" | "balance">;

/** Organisations, agents and credentials. */
export function accountStore(engine: Engine): Accounts {
  const countQuery = (orgId: string) => countInMinute(engine, orgId);
  return { ...orgs(engine), ...agents(engine), ...credentialStore(engine), countQuery };
}

function orgs({ db, dialect }: Engine): Pick<Accounts, "createOrg" | "listOrgs" | "getOrg" | "renameOrg"> {
  return {
    async createOrg({ orgId, name, tier }) {
      const row = { id: orgId, name, tier, created_at: dialect.now };
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
            settings: toJson(applySettingsChange(fromJson(stored), settings)),
          })
          .where("id", "=", agentId)
          .where("deleted_at", "is", null)
          // Compare and swap: two members who change different settings at the same time must both succeed. When the settings
          // have changed since they were read, no row matches, and the loop applies the change to the new ones.
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

function toOrg(row: Schema["orgs"]): Org {
  return { orgId: row.id, name: row.name, tier: row.tier };
}

function toAgent(row: Selectable<Schema["agents"]>): Agent {
  const { id: agentId, org_id: orgId, name, instructions, access_changes: accessChanges } = row;
  return { agentId, orgId, name, instructions, accessChanges, settings: fromJson(row.settings) };
}

export const WINDOW_MS = 60_000;

/**
 * Counts one query in the organisation's current minute. All replicas count in the same row, by the database's clock, so that
 * the limit holds for the organisation and not per replica.
 */
async function countInMinute({ db, dialect }: Engine, orgId: string): Promise<{ count: number; msLeft: number }> {
  // Reads the clock once for both columns: two readings could fall into different minutes.
  const moment = db.selectNoFrom(dialect.now.as("at")).as("moment");
  const row = await db
    .insertInto("rate_windows")
    .columns(["org_id", "window_start", "count"])
    .expression((eb) =>
      eb
        .selectFrom(moment)
        .select([
          sql<string>`cast(${orgId} as text)`.as("org_id"),
          sql<number>`moment.at - moment.at % ${sql.lit(WINDOW_MS)}`.as("window_start"),
          sql<number>`1`.as("count"),
        ])
        // Without a `where`, SQLite parses `on conflict` as the condition of a join.
        .where(sql.lit(true)),
    )
    .onConflict((conflict) =>
      conflict.columns(["org_id", "window_start"]).doUpdateSet({ count: sql<number>`rate_windows.count + 1` }),
    )
    .returning(["count", sql<number>`window_start + ${sql.lit(WINDOW_MS)} - ${dialect.now}`.as("left")])
    .executeTakeFirstOrThrow();
  return { count: row.count, msLeft: Math.max(0, row.left) };
}
