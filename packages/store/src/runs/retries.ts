import { type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { RetryStore } from "@patchbay/engine/ports/store/run-notes";
import { type Lease, LeaseLost, type NewRun } from "@patchbay/engine/ports/store/run-store";
import { insertAudit } from "../audit/audit.ts";
import { toJson, withoutNulls } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import type { Schema } from "../tables/schema.ts";
import { runColumns } from "../tables/runs.ts";
import { is } from "../statement.ts";

/** For a write by a former owner. */
export const leaseLost = ({ runId, fence }: Lease): LeaseLost =>
  new LeaseLost(`another claim ended fence ${fence} of run ${runId}`);

/** Runs that continue failed ones. */
export function retryStore(engine: Engine): RetryStore {
  const { db } = engine;
  return {
    equip: ({ runId, fence }, { manifestHash, request, audit }) =>
      transact(engine, async (trx) => {
        const row = await trx.db
          .updateTable("runs")
          .set({ manifest_hash: manifestHash, request: toJson(request) })
          .where(is({ id: runId, fence, status: "running" }))
          .returning(["org_id", "agent_id", "key_id", "role"])
          .executeTakeFirst();
        if (!row) throw leaseLost({ runId, fence });
        const author = { runId, orgId: row.org_id, agentId: row.agent_id, keyId: row.key_id };
        await insertAudit(trx, audit, { ...author, ...withoutNulls({ role: row.role }) });
      }),

    async newestOf(agentId, threadId) {
      const row = await db
        .selectFrom("runs")
        .select(runColumns.names)
        .where(is({ thread_id: threadId, agent_id: agentId }))
        .where(hasContent)
        .orderBy("position", "desc")
        .limit(1)
        .executeTakeFirst();
      return row && runColumns.recordOf(row);
    },

    async retriedBy(runId) {
      const row = await db
        .selectFrom("runs")
        .select("id")
        .where("retry_of", "=", runId)
        .orderBy("position", "desc")
        .limit(1)
        .executeTakeFirst();
      return row?.id;
    },
  };
}

/** A run that was refused before it began, for example with `thread_busy`, does not continue its thread. */
const hasContent = (eb: ExpressionBuilder<Schema, "runs">) =>
  eb.or([eb("started_at", "is not", null), eb("finished_at", "is", null)]);

/** True while the failed run is the newest one before this position. Call while the thread is locked. */
export async function isNewest({ db }: Engine, { threadId }: NewRun, runId: string, position: number) {
  const before = db.selectFrom("runs").select("id").where("thread_id", "=", threadId);
  const earlier = before.where("position", "<", position).where(hasContent);
  const newest = await earlier.orderBy("position", "desc").limit(1).executeTakeFirst();
  return newest?.id === runId;
}

/**
 * Lets a stored retry continue the failed run: with a copy of its log without the last event, so that readers see what
 * the model has, and with its open calls. Those move with their ids, which their runtimes know. Returns the log's
 * length.
 */
export async function continueRun({ db, dialect }: Engine, run: NewRun, failedId: string): Promise<number> {
  const { runId, request } = run;
  const { retryOf } = request;
  if (!retryOf) throw new Error(`run ${runId} does not continue a failed one`);
  const lastSeq = sql<number>`(select last_seq - 1 from runs as failed where failed.id = ${failedId})`;
  const { last_seq: copied } = await db
    .updateTable("runs")
    .set({ retry_of: retryOf.runId, last_seq: lastSeq })
    .where("id", "=", runId)
    .returning("last_seq")
    .executeTakeFirstOrThrow();
  await db
    .insertInto("run_events")
    .columns(["run_id", "seq", "org_id", "body", "created_at"])
    .expression((eb) =>
      eb
        .selectFrom("run_events")
        .select([sql.val(runId).as("run_id"), "seq", "org_id", "body", dialect.now.as("created_at")])
        .where("run_id", "=", failedId)
        .where("seq", "<=", copied),
    )
    .execute();
  await db
    .updateTable("calls")
    .set({ run_id: runId })
    .where("run_id", "in", retryOf.continues)
    .where("finished_at", "is", null)
    .execute();
  await db
    .updateTable("approvals")
    .set({ run_id: runId })
    .where("run_id", "in", retryOf.continues)
    .where("call_id", "in", (eb) => eb.selectFrom("calls").select("calls.id").where("calls.run_id", "=", runId))
    .execute();
  return copied;
}

/** Later runs read this run's history in place of theirs. The thread's lock prevents reads in between. */
export async function dropHistories(
  { db }: Engine,
  { runId, fence }: Lease,
  replaced: readonly string[],
): Promise<void> {
  await db
    .updateTable("runs")
    .set({ history: null })
    .where("id", "in", replaced)
    .where(
      sql<SqlBool>`exists (select 1 from runs as own
        where own.id = ${runId} and own.fence = ${fence} and own.status = 'running')`,
    )
    .execute();
}
