import { randomBytes } from "@patchbay/kit/time";
import { applySettingsChange } from "@patchbay/protocol";
import { type Selectable, sql } from "kysely";
import type { AccountStore, Agent, Org } from "@patchbay/engine/ports/store/stores";
import { fromJson, toJson } from "../columns.ts";
import { credentialStore } from "./credentials.ts";
import { balanceOf } from "../runs/credits.ts";
import { makeDue } from "../calls/approvals.ts";
import { type Engine, transact } from "../engine.ts";
import { oldestFirst } from "../page-cursor.ts";
import type { Schema } from "../tables/schema.ts";
import { sharedRead } from "../shared-reads.ts";
import { affects, is, statement } from "../statement.ts";
import { removeWebhook } from "../webhooks.ts";

type Accounts = Omit<AccountStore, "grant" | "balance">;

/** Organisations, agents and credentials. */
export function accountStore(engine: Engine): Accounts {
  return { ...orgs(engine), ...agents(engine), ...credentialStore(engine), countQuery: queryCounter(engine) };
}

export async function insertOrg({ db, dialect }: Engine, { orgId, ...named }: Org): Promise<void> {
  const row = { id: orgId, ...named, created_at: dialect.now };
  await db.insertInto("orgs").values(row).execute();
}

function orgs(engine: Engine) {
  const { db } = engine;
  const keys = new Map<string, string>();
  const all = db.selectFrom("orgs").select(["id as orgId", "name", "tier"]);
  return {
    createOrg: (org) => insertOrg(engine, org),
    listOrgs: () => oldestFirst(all).execute(),
    getOrg: (orgId) => all.where("id", "=", orgId).executeTakeFirst(),
    async auditKey(orgId) {
      const known = keys.get(orgId);
      if (known !== undefined) return known;
      const own = db.selectFrom("orgs").select("audit_key as key").where("id", "=", orgId);
      let key = (await own.executeTakeFirst())?.key;
      if (key === null) {
        const made = { audit_key: randomBytes(32).toString("hex") };
        // Of several replicas, the first one's key stays.
        await db.updateTable("orgs").set(made).where("id", "=", orgId).where("audit_key", "is", null).execute();
        key = (await own.executeTakeFirst())?.key;
      }
      if (typeof key !== "string") throw new Error(`the organisation ${orgId} has no row`);
      keys.set(orgId, key);
      return key;
    },
    async renameOrg(orgId, name) {
      await db.updateTable("orgs").set({ name }).where("id", "=", orgId).execute();
    },
  } satisfies Partial<Accounts>;
}

function agents(engine: Engine) {
  const { db, dialect } = engine;
  const living = () => db.selectFrom("agents").selectAll().where("deleted_at", "is", null);
  const livingById = statement((p: { agentId: string }) => living().where("id", "=", p.agentId));
  const withBalance = sharedRead(
    statement((p: { agentId: string }) =>
      living()
        .where("agents.id", "=", p.agentId)
        .select((eb) => [
          balanceOf(eb, eb.ref("agents.org_id")).as("balance_micros"),
          eb
            .selectFrom("webhooks")
            .select(sql.lit(1).as("one"))
            .whereRef("agent_id", "=", "agents.id")
            .as("has_webhook"),
        ]),
    ),
  );
  return {
    async createAgent({ agentId, orgId, name, instructions }) {
      const row = { id: agentId, org_id: orgId, name, instructions, created_at: dialect.now };
      await db.insertInto("agents").values(row).execute();
    },
    async listAgents(orgId) {
      const query = orgId === undefined ? living() : living().where("org_id", "=", orgId);
      const rows = await oldestFirst(query).execute();
      return rows.map(toAgent);
    },
    async getAgent(agentId) {
      const [row] = await livingById(engine, { agentId });
      return row && toAgent(row);
    },
    async agentWithBalance(agentId) {
      const [row] = await withBalance(engine, { agentId });
      return row && { ...toAgent(row), balanceMicros: row.balance_micros, hasWebhook: row.has_webhook === 1 };
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
          .where(is({ id: agentId, deleted_at: null }))
          // Compare and swap: two members who change different settings at once must both succeed. If the settings have
          // changed since they were read, no row matches, and the loop applies the change to the new ones.
          .where("settings", "=", stored)
          .returningAll()
          .executeTakeFirst();
        if (after) return { before: toAgent(before[0]), after: toAgent(after) };
      }
    },
    deleteAgent: (agentId) =>
      transact(engine, async (trx) => {
        const existing = trx.db.updateTable("agents").where(is({ id: agentId, deleted_at: null }));
        const deleted = await affects(trx, existing.set({ deleted_at: dialect.now }));
        await makeDue(trx, (eb) => eb("agent_id", "=", agentId));
        await removeWebhook(trx, agentId);
        return deleted;
      }),
  } satisfies Partial<Accounts>;
}

function toAgent(row: Selectable<Schema["agents"]>): Agent {
  const { id: agentId, org_id: orgId, name, instructions, access_changes: accessChanges } = row;
  return { agentId, orgId, name, instructions, accessChanges, settings: fromJson(row.settings) };
}

export const WINDOW_MS = 60_000;

/** Counts `queries` in the organisation's current minute. */
const countInMinute = statement((p: { orgId: string; queries: number }, { db, dialect }) => {
  // Reads the clock once for both columns: two readings could fall into different minutes.
  const moment = db.selectNoFrom(dialect.now.as("at")).as("moment");
  const queries = sql<number>`cast(${p.queries} as integer)`;
  return db
    .insertInto("rate_windows")
    .columns(["org_id", "window_start", "count"])
    .expression((eb) =>
      eb
        .selectFrom(moment)
        .select([
          sql<string>`cast(${p.orgId} as text)`.as("org_id"),
          sql<number>`moment.at - moment.at % ${sql.lit(WINDOW_MS)}`.as("window_start"),
          queries.as("count"),
        ])
        // Without a `where`, SQLite parses `on conflict` as the condition of a join.
        .where(sql.lit(true)),
    )
    .onConflict((conflict) =>
      conflict.columns(["org_id", "window_start"]).doUpdateSet({
        count: sql<number>`rate_windows.count + excluded.count`,
      }),
    )
    .returning(["count", sql<number>`window_start + ${sql.lit(WINDOW_MS)} - ${dialect.now}`.as("left")]);
});

type Counted = Awaited<ReturnType<Accounts["countQuery"]>>;

/**
 * Counts queries by the database's clock in a row that all replicas share, so that the limit applies per organisation
 * and not per replica. Queries that arrive during an update are counted together by the next one.
 */
function queryCounter(engine: Engine): Accounts["countQuery"] {
  const waiting = new Map<string, PromiseWithResolvers<Counted>[]>();

  async function countWaiting(orgId: string): Promise<void> {
    for (let batch = waiting.get(orgId)!; batch.length > 0; batch = waiting.get(orgId)!) {
      waiting.set(orgId, []);
      try {
        const [row] = await countInMinute(engine, { orgId, queries: batch.length });
        const { count, left } = row!;
        const msLeft = Math.max(0, left);
        for (const [at, { resolve }] of batch.entries()) resolve({ count: count - batch.length + 1 + at, msLeft });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    waiting.delete(orgId);
  }

  return (orgId) => {
    const counted = Promise.withResolvers<Counted>();
    const others = waiting.get(orgId);
    if (others) others.push(counted);
    else {
      waiting.set(orgId, [counted]);
      void countWaiting(orgId);
    }
    return counted.promise;
  };
}
