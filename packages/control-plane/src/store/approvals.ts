import type { ApprovalStatus } from "@patchbay/protocol";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { ApprovalFilter, ApprovalRecord, ApprovalStore, NewApproval, NewDecision } from "../ports/approvals.ts";
import type { AuditEntry } from "../ports/records.ts";
import { decided, requested } from "./approval-reports.ts";
import type { ApprovalRow } from "./approval-row.ts";
import { insertAudit } from "./audit.ts";
import { fromJson, withoutNulls, toJson } from "./columns.ts";
import { type Engine, transact } from "./engine.ts";
import { olderThan, toCursor } from "./page-cursor.ts";
import type { Schema } from "./schema.ts";
import { storeDeliveries } from "./webhooks.ts";

/**
 * Each transition locks the run first and is one update of the pending row: of a decision, an expiry and a cancellation at the same
 * moment, one is stored. The run's row also orders decisions and the step with which the run begins to wait.
 */
export function approvalStore(engine: Engine): ApprovalStore {
  const { dialect } = engine;
  return {
    get: (agentId, approvalId) => find(engine, agentId, approvalId),

    async list({ limit, cursor, ...filter }) {
      const rows = await select(engine, engine.reads)
        .where((eb) => matches(engine, eb, filter))
        .$if(cursor !== undefined, (page) => page.where(olderThan(cursor!, { at: "requested_at", id: "id" })))
        .orderBy("requested_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const nextCursor = rows.length > limit && last ? toCursor({ at: last.requested_at, id: last.id }) : null;
      return { items: page.map(toApproval), nextCursor };
    },

    ofRun: (runId) => approvalsOf(engine, runId),

    decide: (agentId, approvalId, decision) =>
      transact(engine, async (trx) => {
        const approval = await find(trx, agentId, approvalId);
        if (!approval) return undefined;
        const run = await lockRun(trx, approval.runId);
        // The run will end: nothing that is decided now could take effect.
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
            .where("run_id", "=", runId)
            .where("status", "=", "pending")
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
  for (const one of asked) {
    const { thread_id: threadId } = await db
      .insertInto("approvals")
      .values((eb) => ({
        id: one.approvalId,
        org_id: run.orgId,
        agent_id: run.agentId,
        run_id: run.runId,
        thread_id: eb.selectFrom("runs").select("runs.thread_id").where("runs.id", "=", run.runId),
        call_id: one.callId,
        function_name: one.functionName,
        role: run.role ?? null,
        requested_by: run.keyId,
        arguments: toJson(one.arguments),
        arguments_hash: one.argumentsHash,
        reason: one.reason ?? null,
        decides: toJson([...one.by]),
        edit: toJson([...one.edit]),
        four_eyes: one.fourEyes ? 1 : 0,
        status: "pending",
        requested_at: dialect.now,
        expires_at: one.expiresAt,
        reported: 0,
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

/** When a waiting run is due: at the first expiry of its pending approvals, or at once without any or to be cancelled. */
export const wakeTimeOf = (eb: ExpressionBuilder<Schema, "runs">) =>
  eb.case().when("cancel_requested", "=", 1).then(sql.lit(0)).else(firstExpiryOf(eb)).end();

const firstExpiryOf = (eb: ExpressionBuilder<Schema, "runs">) =>
  eb.fn.coalesce(
    eb
      .selectFrom("approvals")
      .select((of) => of.fn.min("approvals.expires_at").as("at"))
      .whereRef("approvals.run_id", "=", "runs.id")
      .where("approvals.status", "=", "pending"),
    sql.lit(0),
  );

/** Lets waiting runs continue at once: something that they check when they continue has changed. */
export async function makeDue(
  { db }: Engine,
  which: (eb: ExpressionBuilder<Schema, "runs">) => Expression<SqlBool>,
): Promise<void> {
  await db.updateTable("runs").set({ wake_at: 0 }).where("wake_at", "is not", null).where(which).execute();
}

async function setWakeTime({ db }: Engine, runId: string): Promise<void> {
  await db
    .updateTable("runs")
    .set((eb) => ({ wake_at: wakeTimeOf(eb) }))
    .where("id", "=", runId)
    .where("wake_at", "is not", null)
    .execute();
}

/** Locks a run that has not ended. */
const lockRun = ({ db }: Engine, runId: string) =>
  db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where("id", "=", runId)
    .where("finished_at", "is", null)
    .returning("cancel_requested")
    .executeTakeFirst();

async function store({ db, dialect }: Engine, approvalId: string, decision: NewDecision): Promise<boolean> {
  const { approved, by, as, reason, edited } = decision;
  const decided = await db
    .updateTable("approvals")
    .set({
      status: approved ? "approved" : "rejected",
      decided_at: dialect.now,
      decided_by: by,
      decided_as: as,
      decision_reason: reason ?? null,
      edited: edited ? toJson(edited) : null,
    })
    .where("id", "=", approvalId)
    .where("status", "=", "pending")
    .where("expires_at", ">", dialect.now)
    .returning("id")
    .executeTakeFirst();
  return decided !== undefined;
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
    .where("id", "=", approvalId)
    .where("agent_id", "=", agentId)
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

function matches(
  { dialect }: Engine,
  eb: ExpressionBuilder<Schema, "approvals">,
  { orgId, agentId, runId, approvalId, status, roles }: ApprovalFilter,
) {
  const all = [];
  if (orgId !== undefined) all.push(eb("org_id", "=", orgId));
  if (agentId !== undefined) all.push(eb("agent_id", "=", agentId));
  if (runId !== undefined) all.push(eb("run_id", "=", runId));
  if (approvalId !== undefined) all.push(eb("id", "=", approvalId));
  if (roles) all.push(eb.or([eb("role", "is", null), eb("role", "in", roles)]));
  const open = eb("status", "=", "pending");
  if (status === "pending") all.push(open, eb("expires_at", ">", dialect.now));
  else if (status === "expired")
    all.push(eb.or([eb("status", "=", "expired"), eb.and([open, eb("expires_at", "<=", dialect.now)])]));
  else if (status !== undefined) all.push(eb("status", "=", status));
  return eb.and(all);
}

function toApproval(row: ApprovalRow & { shown_status: ApprovalStatus }): ApprovalRecord {
  return {
    approvalId: row.id,
    orgId: row.org_id,
    agentId: row.agent_id,
    runId: row.run_id,
    threadId: row.thread_id,
    callId: row.call_id,
    functionName: row.function_name,
    arguments: fromJson(row.arguments),
    argumentsHash: row.arguments_hash,
    by: fromJson(row.decides),
    edit: fromJson(row.edit),
    fourEyes: row.four_eyes === 1,
    status: row.shown_status,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at,
    expiresAt: row.expires_at,
    reported: row.reported === 1,
    ...withoutNulls({
      role: row.role,
      reason: row.reason,
      decidedAt: row.decided_at,
      decidedBy: row.decided_by,
      decidedAs: row.decided_as,
      decisionReason: row.decision_reason,
      edited: row.edited === null ? null : fromJson(row.edited),
    }),
  };
}
