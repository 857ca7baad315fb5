import { sql, type SqlBool } from "kysely";
import { type Engine, repeat } from "../engine.ts";
import { oldestFirst } from "../page-cursor.ts";
import { once, type Pass } from "../pass.ts";
import { namedIn } from "../function-sets/manifests.ts";
import { passedMs } from "../function-sets/served.ts";
import { NO_ROLE } from "../threads/thread-roles.ts";
import { ago, DAY_MS } from "../moments.ts";
import { BATCH, deleteOld, eachPage, forEachAgent, forEachOrg, inFull } from "./batches.ts";
import { WINDOW_MS } from "../accounts/accounts.ts";
import { is } from "../statement.ts";

type Cutoff = ReturnType<typeof ago>;

/** Deleting a run also deletes its events, turns and calls: tens of rows. */
const RUNS_AT_ONCE = 20;

/** Deletes runs that ended more than `days` ago, or more than their agent's own days ago. */
export async function sweepRuns(engine: Engine, days: number, pass: Pass): Promise<number> {
  const sweepOf = (kept: number, agentId?: string) =>
    inFull(RUNS_AT_ONCE, pass, () => repeat(engine, () => sweepSomeRuns(engine, kept, agentId)));
  let deleted = await sweepOf(days);
  await forEachAgent(engine, pass, async ({ id, ownDays }) => {
    if (ownDays < days) deleted += await sweepOf(ownDays, id);
  });
  return deleted;
}

/**
 * Deletes one batch of runs. The candidates are locked first and skip runs that another replica deletes: two
 * simultaneous sweeps would otherwise wait for each other's rows.
 */
async function sweepSomeRuns(engine: Engine, days: number, agentId: string | undefined): Promise<number> {
  const { db, dialect } = engine;
  const cutoff = ago(engine, days * DAY_MS);
  const old = db
    .selectFrom("runs")
    .select("id")
    .where("finished_at", "<", cutoff)
    // An open retry reads the turns from the runs that it continues.
    .where(
      sql<SqlBool>`not exists (select 1 from runs as retry
        where retry.thread_id = runs.thread_id and retry.finished_at is null and retry.retry_of is not null)`,
    )
    .limit(RUNS_AT_ONCE);
  // An agent's runs are indexed by their start, and none ended before it: few that started before the cutoff are kept.
  const ended =
    agentId === undefined
      ? old.orderBy("finished_at")
      : old.where("agent_id", "=", agentId).where("created_at", "<", cutoff).orderBy("created_at");
  const deleted = await db
    .with(
      (cte) => cte("ended").materialized(),
      () => dialect.lockForClaim(ended),
    )
    .deleteFrom("runs")
    .where("id", "in", (eb) => eb.selectFrom("ended").select("ended.id"))
    .returning("thread_id")
    .execute();
  if (deleted.length > 0) await sweepRoles(engine, days, [...new Set(deleted.map(({ thread_id }) => thread_id))]);
  return deleted.length;
}

/** Deletes thread roles without a run in that role. The age check spares a role whose first run is starting now. */
async function sweepRoles(engine: Engine, days: number, threadIds: string[]): Promise<void> {
  await engine.db
    .deleteFrom("thread_roles")
    .where("thread_id", "in", threadIds)
    .where("updated_at", "<", ago(engine, days * DAY_MS))
    .where(
      sql<SqlBool>`not exists (select 1 from runs
        where runs.thread_id = thread_roles.thread_id and coalesce(runs.role, ${NO_ROLE}) = thread_roles.role)`,
    )
    .execute();
}

/** Deletes old threads without runs. A run that has not ended keeps its thread. */
export async function sweepThreads(engine: Engine, days: number, pass: Pass): Promise<void> {
  const { db } = engine;
  const emptyOf = (ids: string[], cutoff: Cutoff) =>
    db
      .deleteFrom("threads")
      .where("id", "in", ids)
      .where("updated_at", "<", cutoff)
      .where(sql<SqlBool>`not exists (select 1 from runs where runs.thread_id = threads.id)`);
  const sweepOf = (agentId: string, listed: 0 | 1, cutoff: Cutoff) =>
    eachPage(pass, async (after) => {
      const old = db
        .selectFrom("threads")
        .select(["updated_at as at", "id"])
        .where(is({ agent_id: agentId, listed }))
        .where("updated_at", "<", cutoff);
      const page = await oldestFirst(old, after, { at: "updated_at", id: "id" }).limit(BATCH).execute();
      const ids = page.map(({ id }) => id);
      if (ids.length > 0) await repeat(engine, () => emptyOf(ids, cutoff).execute());
      return page;
    });
  await forEachAgent(engine, pass, async ({ id, ownDays }) => {
    const cutoff = ago(engine, Math.min(days, ownDays) * DAY_MS);
    for (const listed of [1, 0] as const) await sweepOf(id, listed, cutoff);
  });
}

/** Deletes ended webhook deliveries. */
export async function sweepDeliveries(engine: Engine, days: number, pass: Pass): Promise<void> {
  const deliveries = { table: "webhook_deliveries", key: ["id"], by: "created_at" } as const;
  await forEachAgent(engine, pass, ({ id, ownDays }) => {
    const cutoff = ago(engine, Math.min(days, ownDays) * DAY_MS);
    const isOver = sql`(status <> 'pending' or not exists (select 1 from webhooks where webhooks.agent_id = ${id}))`;
    return deleteOld(engine, pass, deliveries, sql`agent_id = ${id} and created_at < ${cutoff} and ${isOver}`);
  });
}

/** Deletes sessions of end users that were last used more than `days` ago. */
export async function sweepSessions(engine: Engine, days: number, pass: Pass): Promise<void> {
  const sessions = { table: "sessions", key: ["agent_id", "id"], by: "last_seen_at" } as const;
  await deleteOld(engine, pass, sessions, sql`last_seen_at < ${ago(engine, days * DAY_MS)}`);
}

/** Deletes runtimes that were last connected more than `days` ago. */
export async function sweepRuntimes(engine: Engine, days: number, pass: Pass): Promise<void> {
  const runtimes = { table: "runtimes", key: ["agent_id", "instance_id"], by: "last_seen_at" } as const;
  const cutoff = ago(engine, passedMs(engine, days * DAY_MS));
  await forEachAgent(engine, pass, ({ id }) =>
    deleteOld(engine, pass, runtimes, sql`agent_id = ${id} and last_seen_at < ${cutoff}`),
  );
}

/** Deletes function sets that no run, runtime, deployment or audit entry refers to. An agent has tens of sets. */
export async function sweepManifests(engine: Engine, days: number, pass: Pass): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await forEachAgent(engine, pass, async ({ id }) => {
    const old = engine.db.deleteFrom("manifests").where("agent_id", "=", id).where("created_at", "<", cutoff);
    const unused = (["runs", "runtimes", "function_sets", "audit"] as const).reduce(
      (query, table) => query.where(({ not }) => not(namedIn(table))),
      old,
    );
    await once(pass, () => repeat(engine, () => unused.execute()));
  });
}

/** Deletes expired idempotency keys, which are valid for a day. */
export async function sweepIdempotencyKeys(engine: Engine, pass: Pass): Promise<void> {
  const keys = { table: "idempotency_keys", key: ["run_id"], by: "created_at" } as const;
  await deleteOld(engine, pass, keys, sql`created_at < ${ago(engine, DAY_MS)}`);
}

/** Deletes client tokens that have expired. */
export async function sweepClientTokens(engine: Engine, pass: Pass): Promise<void> {
  const tokens = { table: "client_tokens", key: ["id"], by: "expires_at" } as const;
  await deleteOld(engine, pass, tokens, sql`expires_at <= ${engine.dialect.now}`);
}

/** Deletes expired Idempotency-Keys in the console API. */
export async function sweepRequestKeys(engine: Engine, pass: Pass): Promise<void> {
  await forEachOrg(engine, pass, (id) => {
    const old = engine.db.deleteFrom("request_keys").where("org_id", "=", id);
    return once(pass, () => old.where("created_at", "<", ago(engine, DAY_MS)).execute());
  });
}

/** Deletes query counts of past minutes. */
export async function sweepRateWindows(engine: Engine, pass: Pass): Promise<void> {
  await forEachOrg(engine, pass, (id) => {
    const old = engine.db.deleteFrom("rate_windows").where("org_id", "=", id);
    return once(pass, () => old.where("window_start", "<", ago(engine, 2 * WINDOW_MS)).execute());
  });
}

/** Deletes expired console sessions and links. There are few, so no index is needed. */
export async function sweepSignIn({ db, dialect }: Engine): Promise<void> {
  await db.deleteFrom("console_sessions").where("expires_at", "<=", dialect.now).execute();
  await db.deleteFrom("sign_in_links").where("expires_at", "<=", dialect.now).execute();
}
