import { sql } from "kysely";
import { WINDOW_MS } from "./rate-windows.ts";
import type { Engine } from "./schema.ts";
import { repeat } from "./transact.ts";

const DAY_MS = 86_400_000;
const RUNS_AT_ONCE = 200;
const AUDIT_AT_ONCE = 2_000;

/**
 * Deletes what ended more than `days` ago, a little at a time so that others are served in between. Usage and ledger stay;
 * audit entries have a time of their own, and with them the function sets they name. Returns how many runs went. Once aborted
 * it leaves the rest to the next time.
 */
export async function sweep(
  engine: Engine,
  days: number,
  { auditDays = 365, signal }: { auditDays?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const swept = await inFull(RUNS_AT_ONCE, signal, () => sweepRuns(engine, days));
  await sweepAudit(engine, auditDays, signal);
  if (!signal?.aborted) await repeat(engine, () => sweepRemains(engine, days));
  if (!signal?.aborted) await sweepSignIn(engine);
  return swept;
}

/** Deletes batch after batch until one is not full, or aborted; how many rows went. */
async function inFull(size: number, signal: AbortSignal | undefined, batch: () => Promise<number>): Promise<number> {
  for (let sum = 0; ;) {
    if (signal?.aborted) return sum;
    const deleted = await batch();
    sum += deleted;
    if (deleted < size) return sum;
  }
}

/**
 * A moment so long ago, as a sub-select: Postgres looks up in an index only what cannot fail, or a failure might tell of rows
 * that row-level security hides, and its subtraction can.
 */
const ago = ({ dialect }: Engine, ms: number) => sql<number>`(select ${dialect.now} - ${ms})`;

async function sweepRuns(engine: Engine, days: number): Promise<number> {
  const { db, dialect } = engine;
  const ended = db
    .selectFrom("runs")
    .select("id")
    .where("finished_at", "<", ago(engine, days * DAY_MS))
    .orderBy("finished_at")
    .limit(RUNS_AT_ONCE);
  const deleted = await db
    .with(
      (cte) => cte("ended").materialized(),
      () => dialect.lockForClaim(ended),
    )
    .deleteFrom("runs")
    .where("id", "in", (eb) => eb.selectFrom("ended").select("ended.id"))
    .returning("id")
    .execute();
  return deleted.length;
}

/** Entries of runs by agent and the others by organisation, since that is what finds the oldest ones quickly. */
async function sweepAudit(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const { db } = engine;
  const old = db
    .selectFrom("audit")
    .select("id")
    .where("created_at", "<", ago(engine, days * DAY_MS))
    .limit(AUDIT_AT_ONCE);
  const sweep = (some: typeof old) =>
    inFull(AUDIT_AT_ONCE, signal, async () => {
      const entries = db.deleteFrom("audit").where("id", "in", some).returning("id");
      return (await repeat(engine, () => entries.execute())).length;
    });
  for (const { id } of await db.selectFrom("agents").select("id").execute())
    await sweep(old.where("agent_id", "=", id));
  for (const { id } of await db.selectFrom("orgs").select("id").execute())
    await sweep(old.where("org_id", "=", id).where("run_id", "is", null));
}

/** Sessions and links of the console that are over their time. */
async function sweepSignIn({ db, dialect }: Engine): Promise<void> {
  await db.deleteFrom("console_sessions").where("expires_at", "<=", dialect.now).execute();
  await db.deleteFrom("console_links").where("expires_at", "<=", dialect.now).execute();
}

/** Threads without runs, forgotten sessions and runtimes, expired keys, function sets that no run, runtime or audit entry names. */
async function sweepRemains(engine: Engine, days: number): Promise<void> {
  const { db } = engine;
  const cutoff = ago(engine, days * DAY_MS);
  await db
    .deleteFrom("threads")
    .where("updated_at", "<", cutoff)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("runs").select("runs.id").whereRef("runs.thread_id", "=", "threads.id"))),
    )
    .execute();
  await db.deleteFrom("sessions").where("last_seen_at", "<", cutoff).execute();
  await db.deleteFrom("runtimes").where("last_seen_at", "<", cutoff).execute();
  await db
    .deleteFrom("rate_windows")
    .where("window_start", "<", ago(engine, 2 * WINDOW_MS))
    .execute();
  await db.deleteFrom("idempotency_keys").where("created_at", "<", ago(engine, DAY_MS)).execute();
  await db
    .deleteFrom("manifests")
    .where("created_at", "<", cutoff)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("runs")
            .select("runs.id")
            .whereRef("runs.agent_id", "=", "manifests.agent_id")
            .whereRef("runs.manifest_hash", "=", "manifests.hash"),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("runtimes")
            .select("runtimes.instance_id")
            .whereRef("runtimes.agent_id", "=", "manifests.agent_id")
            .whereRef("runtimes.manifest_hash", "=", "manifests.hash"),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("audit")
            .select("audit.id")
            .whereRef("audit.agent_id", "=", "manifests.agent_id")
            .whereRef("audit.manifest_hash", "=", "manifests.hash")
            .where("audit.manifest_hash", "is not", null),
        ),
      ),
    )
    .execute();
}
