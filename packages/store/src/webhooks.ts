import { present } from "@patchbay/kit";
import { sql, type SqlBool } from "kysely";
import {
  DELIVERY_ATTEMPTS,
  DELIVERY_MS,
  type NewDelivery,
  type WebhookStore,
} from "@patchbay/engine/ports/store/webhooks";
import { selected, sortableId, toJson } from "./columns.ts";
import { type Engine, repeat, transact } from "./engine.ts";
import { inMs } from "./moments.ts";
import { newestPage } from "./page-cursor.ts";
import { toDelivery, toWebhook } from "./tables/webhooks.ts";
import { affects, is } from "./statement.ts";

export function webhookStore(engine: Engine): WebhookStore {
  return { ...configuration(engine), ...deliveryLists(engine), ...sending(engine) };
}

function configuration(engine: Engine) {
  const { db, dialect } = engine;
  return {
    async get(agentId) {
      const row = await db.selectFrom("webhooks").selectAll().where("agent_id", "=", agentId).executeTakeFirst();
      return row && toWebhook(row);
    },

    set: ({ agentId, orgId, url, secret }) =>
      transact(engine, async (trx) => {
        const stored = await trx.db
          .insertInto("webhooks")
          .values({ agent_id: agentId, org_id: orgId, url, secret, created_at: dialect.now, updated_at: dialect.now })
          .onConflict((conflict) => conflict.column("agent_id").doUpdateSet({ url, updated_at: dialect.now }))
          .returning("secret")
          .executeTakeFirstOrThrow();
        const added = stored.secret === secret;
        // An event stored while the previous webhook was removed is not for this one.
        if (added) await giveUpDeliveries(trx, agentId);
        return { added };
      }),

    rotate(agentId, secret, overlapMs) {
      const previous = {
        previous_secret: overlapMs > 0 ? sql.ref<string>("secret") : null,
        previous_until: overlapMs > 0 ? inMs(engine, overlapMs) : null,
      };
      const rotated = { secret, ...previous, updated_at: dialect.now };
      return affects(engine, db.updateTable("webhooks").set(rotated).where("agent_id", "=", agentId));
    },

    remove: (agentId) => transact(engine, (trx) => removeWebhook(trx, agentId)),
  } satisfies Partial<WebhookStore>;
}

/** Deletes an agent's webhook and drops its waiting deliveries. */
export async function removeWebhook({ db }: Engine, agentId: string): Promise<boolean> {
  const removed = await affects({ db }, db.deleteFrom("webhooks").where("agent_id", "=", agentId));
  await giveUpDeliveries({ db }, agentId);
  return removed;
}

async function giveUpDeliveries({ db }: Pick<Engine, "db">, agentId: string): Promise<void> {
  await db
    .updateTable("webhook_deliveries")
    .set({ status: "failed", next_attempt_at: null, last_error: "The webhook was removed." })
    .where(is({ agent_id: agentId, status: "pending" }))
    .execute();
}

/**
 * Stores events for an agent with a webhook; nothing for others. Called in the transaction that stores what the events
 * report, so that a crash leaves both or neither.
 */
export async function storeDeliveries(
  { db, dialect }: Engine,
  { agentId }: { agentId: string },
  events: readonly NewDelivery[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const { type, data } of events) {
    const { columns, selections } = selected({
      id: sql`cast(${sortableId("whd")} as text)`,
      org_id: sql.ref("webhooks.org_id"),
      agent_id: sql.ref("webhooks.agent_id"),
      type: sql`cast(${type} as text)`,
      data: sql`cast(${toJson(data)} as text)`,
      status: sql.lit("pending"),
      attempts: sql.lit(0),
      attempts_left: sql.lit(DELIVERY_ATTEMPTS),
      created_at: dialect.now,
      queued_at: dialect.now,
      next_attempt_at: dialect.now,
    });
    const stored = await db
      .insertInto("webhook_deliveries")
      .columns(columns)
      .expression((eb) => eb.selectFrom("webhooks").select(selections).where("agent_id", "=", agentId))
      .returning("id")
      .execute();
    ids.push(...stored.map((one) => one.id));
  }
  return ids;
}

function deliveryLists(engine: Engine): Pick<WebhookStore, "add" | "deliveries" | "delivery" | "sendAgain"> {
  const { db, reads, dialect } = engine;
  return {
    async add(agent, event) {
      const [id] = await storeDeliveries(engine, agent, [event]);
      return id;
    },

    async deliveries({ agentId, status, ...asked }) {
      const some = reads
        .selectFrom("webhook_deliveries")
        .selectAll()
        .where(is({ agent_id: agentId, ...present({ status }) }));
      const page = await newestPage(some, asked, { at: "created_at", id: "id" });
      return { ...page, items: page.items.map(toDelivery) };
    },

    async delivery(agentId, deliveryId) {
      const row = await db
        .selectFrom("webhook_deliveries")
        .selectAll()
        .where(is({ id: deliveryId, agent_id: agentId }))
        .executeTakeFirst();
      return row && toDelivery(row);
    },

    sendAgain(agentId, deliveryId) {
      const ended = db
        .updateTable("webhook_deliveries")
        .where(is({ id: deliveryId, agent_id: agentId }))
        .where("status", "<>", "pending")
        .where(sql<SqlBool>`exists (select 1 from webhooks where webhooks.agent_id = ${agentId})`);
      const due = { attempts_left: DELIVERY_ATTEMPTS, queued_at: dialect.now, next_attempt_at: dialect.now };
      return affects(engine, ended.set({ status: "pending", ...due }));
    },
  };
}

function sending(engine: Engine): Pick<WebhookStore, "due" | "claim" | "settle"> {
  const { db, dialect } = engine;
  return {
    async due(busy) {
      // One index probe per webhook, however many deliveries wait for an unreachable receiver.
      return db
        .selectFrom("webhooks")
        .select(["org_id as orgId", "agent_id as agentId"])
        .$if(busy.length > 0, (others) => others.where("agent_id", "not in", [...busy]))
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom("webhook_deliveries")
              .select("webhook_deliveries.id")
              .whereRef("webhook_deliveries.agent_id", "=", "webhooks.agent_id")
              .where(isDue(engine)),
          ),
        )
        .execute();
    },

    claim: (agentId, { limit, leaseMs }) =>
      transact(engine, async (trx) => {
        const webhook = await trx.db
          .selectFrom("webhooks")
          .select(["url", "secret"])
          .select(({ case: either }) =>
            either()
              .when("previous_until", ">", dialect.now)
              .then(sql.ref<string>("previous_secret"))
              .end()
              .as("previous"),
          )
          .where("agent_id", "=", agentId)
          .executeTakeFirst();
        if (!webhook) return [];
        const { url, secret, previous } = webhook;
        const secrets = previous === null ? [secret] : [secret, previous];
        const rows = await take(trx, agentId, { limit, leaseMs });
        return rows.map((row) => ({
          delivery: toDelivery(row),
          round: DELIVERY_ATTEMPTS - row.attempts_left,
          url,
          secrets,
        }));
      }),

    async settle({ deliveryId, attempts }, { delivered, unsent, status, error, durationMs, retryInMs }) {
      const retryAt = inMs(engine, Math.ceil(retryInMs));
      const isLast = sql<boolean>`(attempts_left <= ${sql.lit(unsent ? -1 : 0)} or ${retryAt} > queued_at + ${sql.lit(DELIVERY_MS)})`;
      const untried = { attempts: sql<number>`attempts - 1`, attempts_left: sql<number>`attempts_left + 1` };
      const settled = await repeat(engine, () =>
        db
          .updateTable("webhook_deliveries")
          .set({
            ...(unsent && untried),
            status: delivered ? "delivered" : sql`case when ${isLast} then 'failed' else 'pending' end`,
            next_attempt_at: delivered ? null : sql`case when ${isLast} then null else ${retryAt} end`,
            last_status: status ?? null,
            last_error: error ?? null,
            last_duration_ms: Math.round(durationMs),
          })
          .where(is({ id: deliveryId, attempts, status: "pending" }))
          .returning("status")
          .executeTakeFirst(),
      );
      return settled?.status;
    },
  };
}

const isDue = ({ dialect }: Pick<Engine, "dialect">) =>
  sql<SqlBool>`(webhook_deliveries.status = 'pending' and webhook_deliveries.next_attempt_at <= ${dialect.now})`;

/** The lease is in `next_attempt_at`: after a replica crashes, its delivery becomes due again without a release. */
function take({ db, dialect }: Engine, agentId: string, { limit, leaseMs }: { limit: number; leaseMs: number }) {
  const due = db
    .selectFrom("webhook_deliveries")
    .select("webhook_deliveries.id")
    .where("webhook_deliveries.agent_id", "=", agentId)
    .where(isDue({ dialect }))
    .orderBy("webhook_deliveries.next_attempt_at")
    .limit(limit);
  return db
    .with(
      (cte) => cte("due").materialized(),
      () => dialect.lockForClaim(due, "webhook_deliveries"),
    )
    .updateTable("webhook_deliveries")
    .set((eb) => ({
      attempts: eb("attempts", "+", 1),
      attempts_left: eb("attempts_left", "-", 1),
      last_attempt_at: dialect.now,
      // Time in which no replica tried, as in an outage, does not count.
      queued_at: sql<number>`queued_at + ${dialect.now} - next_attempt_at`,
      next_attempt_at: inMs({ dialect }, leaseMs),
    }))
    .where("id", "in", (eb) => eb.selectFrom("due").select("due.id"))
    .returningAll()
    .execute();
}
