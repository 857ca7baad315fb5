import { isoTime } from "@patchbay/kit";
import type { ApprovalStatus } from "@patchbay/protocol";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { ApprovalRecord, ApprovalStore, NewApproval, NewDecision } from "@patchbay/engine/ports/store/approvals";
import type { NewDelivery } from "@patchbay/engine/ports/store/webhooks";
import type { AuditEntry } from "@patchbay/engine/ports/records";
import { callerId, matches } from "./approval-filter.ts";
import { approvalColumns, type ApprovalRow } from "../tables/approvals.ts";
import { insertAudit } from "../audit/audit.ts";
import { withoutNulls } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { newestPage } from "../page-cursor.ts";
import type { Schema } from "../tables/schema.ts";
import { storeDeliveries } from "../webhooks.ts";
import { affects, is } from "../statement.ts";

/**
 * Each transition locks the run first and is one update on the pending row: of simultaneous decisions, expiries and
 * cancellations, one is stored. The run's row also orders decisions and the step with which the run starts to wait.
 */
export function approvalStore(engine: Engine): ApprovalStore {
  const { dialect } = engine;
  return {
    get: (agentId, approvalId) => find(engine, agentId, approvalId),

    async list({ limit, cursor, ...filter }) {
      const approvals = select(engine, engine.reads).where((eb) => matches(engine, eb, filter));
      const page = await newestPage(approvals, { limit, cursor }, { at: "requested_at", id: "id" });
      return { ...page, items: page.items.map(toApproval) };
    },

    ofRun: (runId) => approvalsOf(engine, runId),

    decide: (agentId, approvalId, decision) =>
      transact(engine, async (trx) => {
        const approval = await find(trx, agentId, approvalId);
        if (!approval) return undefined;
        const run = await lockRun(trx, approval.runId);
        // The run will end: no decision could take effect now.
        if (!run || run.cancel_requested === 1) return { decided: false, approval: cancelledUnlessOver(approval) };
        const isDecided = await store(trx, approvalId, decision);
        if (isDecided) {
          await insertAudit(trx, [decisionEntry(approval, decision)], approval);
          await setWakeTime(trx, approval.runId);
        }
        const after = (await find(trx, agentId, approvalId)) ?? approval;
        if (isDecided) await storeDeliveries(trx, after, [decided(after)]);
        return { decided: isDecided, approval: after };
      }),

    close: (runId, options) =>
      transact(engine, async (trx) => {
        await lockRun(trx, runId);
        const closed = async (status: "expired" | "cancelled", expired: boolean) => {
          const rows = await trx.db
            .updateTable("approvals")
            .set({ status })
            .where(is({ run_id: runId, status: "pending" }))
            .$if(expired, (those) => those.where("expires_at", "<=", dialect.now))
            .returning("id")
            .execute();
          return new Set(rows.map(({ id }) => id));
        };
        const ended = [
          { action: "approval.expired", ids: await closed("expired", true) },
          { action: "approval.cancelled", ids: options?.cancel ? await closed("cancelled", false) : new Set<string>() },
        ];
        const approvals = await approvalsOf(trx, runId);
        for (const { action, ids } of ended)
          for (const one of approvals.filter(({ approvalId }) => ids.has(approvalId))) {
            await insertAudit(trx, [{ action, ...about(one) }], one);
            await storeDeliveries(trx, one, [decided(one)]);
          }
        return approvals;
      }),
  };
}

/** Stores what a step requests and reports. */
export async function storeApprovals(
  trx: Engine,
  run: { runId: string; orgId: string; agentId: string; keyId: string; role?: string },
  { requested: asked = [], reported = [] }: { requested?: NewApproval[]; reported?: string[] },
): Promise<void> {
  const { db, dialect } = trx;
  const { keyId: requestedBy, ...of } = run;
  for (const one of asked) {
    const { thread_id: threadId } = await db
      .insertInto("approvals")
      .values((eb) => ({
        ...approvalColumns.someOf({ ...one, ...of, requestedBy, status: "pending", reported: false }),
        thread_id: eb.selectFrom("runs").select("runs.thread_id").where("runs.id", "=", run.runId),
        requested_at: dialect.now,
      }))
      .returning("thread_id")
      .executeTakeFirstOrThrow();
    await storeDeliveries(trx, run, [requested(one, { runId: run.runId, threadId })]);
  }
  if (reported.length === 0) return;
  await db.updateTable("approvals").set({ reported: 1 }).where("id", "in", reported).execute();
  const requestedAt = sql<number>`(select requested_at from approvals where approvals.run_id = calls.run_id and approvals.call_id = calls.id)`;
  await db
    .updateTable("calls")
    .set({ waited_ms: sql<number>`${dialect.now} - ${requestedAt}` })
    .where("id", "in", (eb) => eb.selectFrom("approvals").select("call_id").where("id", "in", reported))
    .execute();
}

type Run = Pick<ApprovalRecord, "runId" | "threadId">;

/** What webhooks report about a call: neither its arguments nor the request's reason, which may repeat them. */
const ofCall = ({ runId, threadId }: Run, { approvalId, functionName }: NewApproval) => ({
  runId,
  threadId,
  approvalId,
  toolName: functionName,
});

function requested(approval: NewApproval, run: Run): NewDelivery {
  const { by, expiresAt } = approval;
  return { type: "approval.requested", data: { ...ofCall(run, approval), by: [...by], expiresAt: isoTime(expiresAt) } };
}

/** For a decided, expired or cancelled approval. */
function decided(approval: ApprovalRecord): NewDelivery {
  const { status } = approval;
  if (status === "pending") throw new Error(`approval ${approval.approvalId} is pending`);
  return { type: "approval.decided", data: { ...ofCall(approval, approval), decision: status } };
}

/**
 * When a waiting run is due: when its first pending approval expires, or its last one was decided; when the time of a
 * detached call is over, or its result arrived; at once if it waits for nothing or is cancelled.
 */
export const wakeTimeOf = sql<number>`case when cancel_requested = 1 then 0 else coalesce((select min(at) from (
  select case when sum(case status when 'pending' then 1 else 0 end) = 0 then 0
    else min(case status when 'pending' then expires_at end) end as at
  from approvals where approvals.run_id = runs.id and reported = 0
  union all
  select min(case when arrived is null then runs_until else 0 end) as at
  from calls where calls.run_id = runs.id and outcome is null and runs_until is not null) as due), 0) end`;

/** Resumes waiting runs at once: something that they check on resuming has changed. */
export async function makeDue(
  { db }: Engine,
  which: (eb: ExpressionBuilder<Schema, "runs">) => Expression<SqlBool>,
): Promise<void> {
  await db.updateTable("runs").set({ wake_at: 0 }).where("wake_at", "is not", null).where(which).execute();
}

/** Lets a waiting run take the result of a detached call that has arrived. */
export const wakeRun = (engine: Engine, runId: string): Promise<void> =>
  transact(engine, async (trx) => {
    // A step with which the run starts to wait, and has not seen the result, is stored first.
    await lockRun(trx, runId);
    await setWakeTime(trx, runId);
  });

async function setWakeTime({ db }: Engine, runId: string): Promise<void> {
  await db
    .updateTable("runs")
    .set({ wake_at: wakeTimeOf })
    .where("id", "=", runId)
    .where("wake_at", "is not", null)
    .execute();
}

/** Locks a run that has not ended. */
const lockRun = ({ db }: Engine, runId: string) =>
  db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where(is({ id: runId, finished_at: null }))
    .returning("cancel_requested")
    .executeTakeFirst();

function store({ db, dialect }: Engine, approvalId: string, decision: NewDecision): Promise<boolean> {
  const { approved, by, as, reason, edited } = decision;
  const status = approved ? "approved" : "rejected";
  const made = approvalColumns.someOf({ status, decidedBy: by, decidedAs: as, decisionReason: reason, edited });
  const pending = db.updateTable("approvals").where(is({ id: approvalId, status: "pending" }));
  const open = pending.where("expires_at", ">", dialect.now);
  return affects({ db }, open.set({ ...made, decided_at: dialect.now }));
}

const about = ({ callId, functionName, approvalId }: ApprovalRecord) => ({
  callId,
  functionName,
  detail: { approvalId },
});

/** Names the author and the changed members; the arguments and the reason are in the approval only. */
function decisionEntry(approval: ApprovalRecord, { approved, by, as, edited }: NewDecision): AuditEntry {
  const { detail, ...call } = about(approval);
  const action = approved ? "approval.approved" : "approval.rejected";
  return { action, ...call, keyId: by, detail: { ...detail, as, ...(edited && { edited: [...approval.edit] }) } };
}

const cancelledUnlessOver = (approval: ApprovalRecord): ApprovalRecord =>
  approval.status === "pending" ? { ...approval, status: "cancelled" } : approval;

/** Reads approvals. A pending one that has expired reads as expired. */
const select = ({ dialect }: Engine, db: Engine["db"]) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .select(callerId.as("caller_id"))
    .select((eb) =>
      eb
        .case()
        .when(eb.and([eb("status", "=", "pending"), eb("expires_at", "<=", dialect.now)]))
        .then(sql.lit<ApprovalStatus>("expired"))
        .else(eb.ref("status"))
        .end()
        .as("shown_status"),
    );

async function find(engine: Engine, agentId: string, approvalId: string): Promise<ApprovalRecord | undefined> {
  const row = await select(engine, engine.db)
    .where(is({ id: approvalId, agent_id: agentId }))
    .executeTakeFirst();
  return row && toApproval(row);
}

export async function approvalsOf(engine: Engine, runId: string): Promise<ApprovalRecord[]> {
  const rows = await select(engine, engine.db)
    .where("run_id", "=", runId)
    .orderBy("requested_at")
    .orderBy("id")
    .execute();
  return rows.map(toApproval);
}

const toApproval = ({
  shown_status: status,
  caller_id: callerId,
  ...row
}: ApprovalRow & { shown_status: ApprovalStatus; caller_id: string | null }): ApprovalRecord => ({
  ...approvalColumns.recordOf(row),
  status,
  ...withoutNulls({ callerId }),
});
