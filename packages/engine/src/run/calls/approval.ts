import {
  APPROVAL_REQUIRED,
  type ApprovalRequest,
  approvalIdOf,
  approvalRuleOf,
  type CallOutcome,
  type FlowFault,
  type FunctionManifest,
  LIMITS,
  type RunEvent,
} from "@patchbay/protocol";
import { canonicalJson, isoTime, present } from "@patchbay/kit";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import type { ApprovalRecord, NewApproval } from "../../ports/store/approvals.ts";
import type { Delivery, FunctionSession } from "../../ports/function-gateway.ts";
import type { CallRecord } from "../../ports/records.ts";
import { callFailure, type CallFailure } from "../../ports/refusal.ts";
import { isRunning } from "./detached.ts";
import { noticeOf } from "./flow.ts";
import { type Journal, type JournalEntry, runEntry } from "./journal.ts";
import { NOT_RUN, notRun } from "./limits.ts";
import { withRetry } from "../run-context.ts";
import { cancelled } from "../run-failure.ts";
import type { ActiveRun, Progress, RunState } from "../state.ts";

/** The rule in outcomes that a person's decision, or its absence, gave a call. */
const APPROVAL_RULE = "approval";

const CHANGED = notRun(
  "it has changed since the approval was asked for. Call it again if it is still needed.",
  NOT_RUN.changed,
);

/** True for a call that waits for a person. */
export const isPending = ({ outcome, approval }: CallRecord): boolean => !outcome && approval?.status === "pending";

/**
 * Stores the approval request that the runtime asked for. False if it asked for none, or for one that the call does not
 * need: a runtime cannot make a call wait for people by itself, or twice.
 */
export async function requestApproval(
  state: RunState,
  call: CallRecord,
  delivery: Delivery,
  { clock, journal }: Pick<ActiveRun, "clock" | "journal">,
  flowFault?: FlowFault,
): Promise<boolean> {
  if (delivery.kind !== "outcome" || delivery.outcome.ok || delivery.outcome.code !== "approval_required") return false;
  const { run, functions } = state;
  const asking = functions.get(call.functionName);
  const rule = asking && approvalRuleOf(asking);
  if (!rule || call.approval) return false;
  const { message, flowFault: fault = flowFault } = delivery.outcome;
  const asked: NewApproval = {
    approvalId: approvalIdOf(call.callId),
    callId: call.callId,
    functionName: call.functionName,
    arguments: call.arguments,
    argumentsHash: argumentsHash(call.arguments),
    ...(message !== APPROVAL_REQUIRED && { reason: message.slice(0, LIMITS.approvalReasonUnits) }),
    ...(fault && { flow: noticeOf(state, call, fault) }),
    by: rule.by,
    edit: rule.edit ?? [],
    fourEyes: rule.fourEyes,
    expiresAt: clock.now() + rule.expiresInMs,
  };
  const { orgId, agentId, runId, threadId, keyId: requestedBy } = run;
  const of = { orgId, agentId, runId, threadId, requestedBy, requestedAt: clock.now(), ...present({ role: run.role }) };
  call.approval = { ...asked, ...of, status: "pending", reported: false };
  const { approvalId, callId, functionName } = asked;
  await journal.write({
    calls: [call],
    approvals: { requested: [asked] },
    events: [{ type: "approvalRequest", toolCallId: callId, ...requestOf(call.approval) }],
    audit: [runEntry(run, "approval.requested", { callId, functionName, detail: { approvalId, by: [...rule.by] } })],
  });
  return true;
}

/** A request as events and responses show it. */
export function requestOf(approval: ApprovalRecord): ApprovalRequest {
  const { approvalId, functionName: toolName, reason, flow, by, expiresAt } = approval;
  return {
    approvalId,
    toolName,
    parameters: approval.arguments,
    ...present({ reason, flow }),
    by: [...by],
    expiresAt: isoTime(expiresAt),
  };
}

/**
 * Reads the decisions on calls in a run that continues after it waited. Throws `cancelled` when the query's key was
 * revoked meanwhile, or may no longer state the run's role, and when the agent was deleted.
 */
export async function readDecisions(
  { run, heldBy }: RunState,
  calls: readonly CallRecord[],
  active: ActiveRun,
): Promise<void> {
  const asked = calls.filter(({ outcome, approval }) => !outcome && approval && !approval.reported);
  if (asked.length === 0 && !calls.some(isRunning)) return;
  if (!(await withRetry(() => active.accounts.mayContinue({ ...run, heldBy }), active))) throw cancelled();
  const known = await withRetry(() => active.approvals.close(run.runId), active);
  for (const call of asked) {
    const approval = known.find(({ callId }) => callId === call.callId);
    if (approval) call.approval = approval;
  }
}

/** The part of a journal entry that reports decisions. */
export interface Decided {
  events: RunEvent[];
  approvals: { reported: string[] };
}

/** Reports the decisions, including approvals cancelled by their run's end. */
export const decided = (approvals: readonly ApprovalRecord[]): Decided => ({
  events: approvals.map(decisionEvent),
  approvals: { reported: approvals.map(({ approvalId }) => approvalId) },
});

/**
 * The decision on a call in a run that continues after it waited, unless it was already sent with the call. A call that
 * must not run gets its outcome.
 */
export async function readDecision(
  { run, functions }: RunState,
  call: CallRecord,
  { gateway, signal }: Pick<ActiveRun, "gateway" | "signal">,
): Promise<Decided | undefined> {
  const { approval } = call;
  // A retry continues with decisions that are in its log, on calls without a next attempt.
  if (!approval || call.earlier?.some(({ ended }) => ended === "approval")) return undefined;
  const asked = functions.get(call.functionName)!;
  const outcome = refusedOutcome(approval) ?? changedSince(asked, await gateway.session(run.agentId, { signal }));
  if (outcome) call.outcome = outcome;
  return decided([approval]);
}

/**
 * Writes an entry about a call, with the decision if no earlier entry had it. Once stored, the call notes that its
 * decision is in the log; until then the run's end reports it.
 */
export async function writeDecided(
  journal: Journal,
  call: CallRecord,
  entry: JournalEntry,
  decision: Decided | undefined,
): Promise<{ reservedMicros: number }> {
  const { approval } = call;
  if (!decision || !approval || approval.reported) return await journal.write(entry);
  const events = [...decision.events, ...(entry.events ?? [])];
  const written = await journal.write({ ...entry, ...decision, events });
  call.approval = { ...approval, reported: true };
  return written;
}

/** The outcome for a call that was not approved; undefined for an approved one. */
function refusedOutcome({ status, decisionReason }: ApprovalRecord): CallFailure | undefined {
  if (status === "rejected") return rejectedOutcome(decisionReason);
  if (status === "expired")
    return callFailure(
      "approval_expired",
      "The approval of this call expired before a person decided. The function was not run.",
      APPROVAL_RULE,
    );
  if (status !== "cancelled") return undefined;
  return callFailure("cancelled", "The approval of this call was cancelled.", APPROVAL_RULE);
}

const rejectedOutcome = (reason?: string): CallFailure =>
  callFailure(
    "rejected",
    `A person rejected this call, and the function was not run.${reason ? ` The reason: ${reason}` : ""} Do not ask for the same call again.`,
    APPROVAL_RULE,
  );

/**
 * The outcome for a call with the same arguments as one that a person rejected earlier in the run: no person is asked
 * again.
 */
export function rejectedBefore(calls: readonly CallRecord[], call: CallRecord): CallOutcome | undefined {
  const rejected = calls.filter(
    ({ functionName, outcome }) =>
      functionName === call.functionName && outcome?.ok === false && outcome.code === "rejected",
  );
  if (rejected.length === 0) return undefined;
  const given = canonicalJson(call.arguments);
  return rejected.some((one) => canonicalJson(one.arguments) === given) ? rejectedOutcome() : undefined;
}

/**
 * The outcome for an approved call whose function has changed since the decision. Undefined if it has not, and if its
 * service is not connected: the call then waits for a runtime like any other call.
 */
function changedSince(asked: FunctionManifest, session: FunctionSession | undefined): CallOutcome | undefined {
  if (!session) return undefined;
  const now = session.manifest.functions.find(({ name }) => name === asked.name);
  if (!now) return session.missing.length > 0 ? undefined : CHANGED;
  return termsOf(now) === termsOf(asked) ? undefined : CHANGED;
}

/** What an approval relies on. */
const termsOf = ({ inputSchema, keepsUnlisted, roles, conditional, effect, ...one }: FunctionManifest): string =>
  canonicalJson({
    inputSchema,
    keepsUnlisted: keepsUnlisted ?? false,
    roles,
    conditional,
    effect,
    approval: approvalRuleOf(one) ?? null,
  });

/** A decision's event. */
function decisionEvent(approval: ApprovalRecord): RunEvent {
  const { approvalId, callId: toolCallId, status, decisionReason: reason, edited: parameters } = approval;
  const decision = status === "pending" ? "cancelled" : status;
  return { type: "approvalDecision", approvalId, toolCallId, decision, ...present({ reason, parameters }) };
}

/**
 * Closes an ending run's approvals. Returns the entry that reports them: decisions that the run did not reach, and
 * cancellations.
 */
export async function closeApprovals(
  runId: string,
  progress: Progress | undefined,
  { approvals, clock, log }: Pick<ActiveRun, "approvals" | "clock" | "log">,
): Promise<Decided | undefined> {
  const isKnown = progress !== undefined && progress.leftOut === undefined;
  if (isKnown && !progress.calls.some(({ approval }) => approval && !approval.reported)) return undefined;
  const closed = await withRetry(() => approvals.close(runId, { cancel: true }), { clock, log });
  const unreported = closed.filter(({ reported }) => !reported);
  return unreported.length > 0 ? decided(unreported) : undefined;
}
