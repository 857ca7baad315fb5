import type { CallErrorCode, CallOutcome } from "@patchbay/protocol";
import { sql } from "kysely";
import type { CallAddress } from "@patchbay/engine/ports/function-gateway";
import type { CallRecord } from "@patchbay/engine/ports/records";
import { insertAudit } from "../audit/audit.ts";
import { fromJson, withoutNulls } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { affects, is } from "../statement.ts";

/** The call with its run; undefined unless the call was sent to this runtime. */
export function findCall({ db }: Engine, { agentId, callId, instanceId }: CallAddress) {
  return db
    .selectFrom("calls")
    .innerJoin("runs", "runs.id", "calls.run_id")
    .select(["calls.id", "calls.run_id", "calls.org_id", "calls.function_name"])
    .select(["calls.outcome", "calls.late", "calls.attempt", "calls.runs_until"])
    .select(["runs.agent_id", "runs.key_id", "runs.role", "runs.owner", "runs.status"])
    .where(is({ "calls.id": callId, "calls.instance_id": instanceId, "runs.agent_id": agentId }))
    .executeTakeFirst();
}

export type FoundCall = NonNullable<Awaited<ReturnType<typeof findCall>>>;

/**
 * True for a result that differs from the stored outcome. A runtime repeats a result until the control plane acknowledges it;
 * such a repetition must not appear in the audit log as a late result.
 */
export function isLateResult({ outcome, late }: FoundCall, answer: CallOutcome): boolean {
  if (late === 1) return false;
  if (outcome === null) return true;
  const stored = endOf(fromJson(outcome));
  return stored !== endOf(answer) && stored !== "result_too_large";
}

const endOf = (outcome: CallOutcome): string => (outcome.ok ? "ok" : outcome.code);

export interface CallingRun {
  runId: string;
  orgId: string;
  agentId: string;
  keyId: string;
  role?: string;
}

/** Outcomes that the control plane decided without an answer. The runtime may still have executed the call. */
const GIVEN_UP: ReadonlySet<string> = new Set<CallErrorCode>(["outcome_unknown", "timed_out", "cancelled"]);

/** True for a call whose result may have arrived without being used. */
export const isGivenUp = ({ outcome }: CallRecord): boolean =>
  outcome !== undefined && !outcome.ok && GIVEN_UP.has(outcome.code);

/**
 * Audits results that arrived after their run's owner gave the call up and before it commits that decision. Without
 * this the audit log would not mention that the call was executed.
 */
export async function noteUnusedResults(trx: Engine, run: CallingRun, calls: readonly CallRecord[]): Promise<void> {
  const givenUp = calls.filter(isGivenUp);
  if (givenUp.length === 0) return;
  // Also locks the rows without a result: one that arrives now waits for this transaction and then counts as late.
  const locked = await trx.db
    .updateTable("calls")
    .set({ late: sql<number>`case when arrived is null then late else 1 end` })
    .where(
      "id",
      "in",
      givenUp.map(({ callId }) => callId),
    )
    .where("outcome", "is", null)
    .returning(["id", "function_name", "arrived"])
    .execute();
  const answered = locked.filter(({ arrived }) => arrived !== null);
  const entries = answered.map((call) => ({ action: "call.late", callId: call.id, functionName: call.function_name }));
  await insertAudit(trx, entries, run);
}

/** Audits once, without the result, that a call was answered after it had been given up. */
export function noteLate(engine: Engine, call: FoundCall): Promise<void> {
  return transact(engine, async (trx) => {
    const unnoted = trx.db.updateTable("calls").where(is({ id: call.id, late: 0 }));
    if (!(await affects(trx, unnoted.set({ late: 1 })))) return;
    const author = { orgId: call.org_id, agentId: call.agent_id, runId: call.run_id, keyId: call.key_id };
    const entry = { action: "call.late", callId: call.id, functionName: call.function_name };
    await insertAudit(trx, [entry], { ...author, ...withoutNulls({ role: call.role }) });
  });
}
