import { sql } from "kysely";
import type { Engine } from "./schema.ts";

const DAY_MS = 86_400_000;
const RUNS_AT_ONCE = 200;
const AUDIT_AT_ONCE = 2_000;

/**
 * Deletes what ended more than `days` ago, a little at a time so that others are served in between. Usage and ledger stay;
 * audit entries have a time of their own, and with them the function sets they name. Returns how many runs went.
 */
export async function sweep(engine: Engine, days: number, auditDays: number): Promise<number> {
  let swept = 0;
  for (;;) {
    const batch = await sweepRuns(engine, days);
    swept += batch;
    if (batch < RUNS_AT_ONCE) break;
  }
  await sweepAudit(engine, auditDays);
  await sweepRemains(engine, days);
  return swept;
}

async function sweepRuns({ db, dialect }: Engine, days: number): Promise<number> {
  const ended = db
    .selectFrom("runs")
    .select("id")
    .where("finished_at", "<", sql<number>`${dialect.now} - ${days * DAY_MS}`)
    .orderBy("finished_at")
    .limit(RUNS_AT_ONCE);
  const deleted = await db.deleteFrom("runs").where("id", "in", ended).returning("id").execute();
  return deleted.length;
}

/** By organisation, since that is what finds the oldest entries quickly. */
async function sweepAudit({ db, dialect }: Engine, days: number): Promise<void> {
  for (const { id: orgId } of await db.selectFrom("orgs").select("id").execute()) {
    const old = db
      .selectFrom("audit")
      .select("id")
      .where("org_id", "=", orgId)
      .where("created_at", "<", sql<number>`${dialect.now} - ${days * DAY_MS}`)
      .limit(AUDIT_AT_ONCE);
    for (let deleted = AUDIT_AT_ONCE; deleted === AUDIT_AT_ONCE;)
      deleted = (await db.deleteFrom("audit").where("id", "in", old).returning("id").execute()).length;
  }
}

/** Threads without runs, forgotten sessions and runtimes, expired keys, function sets that no run, runtime or audit entry names. */
async function sweepRemains({ db, dialect }: Engine, days: number): Promise<void> {
  const cutoff = sql<number>`${dialect.now} - ${days * DAY_MS}`;
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
    .deleteFrom("idempotency_keys")
    .where("created_at", "<", sql<number>`${dialect.now} - ${DAY_MS}`)
    .execute();
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
