import { FUNCTION_NAME, LIMITS } from "@patchbay/protocol";
import type { AuditEntry, CallRecord, RunRecord } from "../ports/records.ts";
import { refusalOf, ruleOf } from "../ports/refusal.ts";
import type { NewRun } from "../ports/run-store.ts";
import type { Caller } from "./api.ts";
import { isBeyondLimit } from "./call-limits.ts";
import type { RunFailure } from "./run-failure.ts";

const MEMBERS_KEPT = 100;

/** The entry of an event in a run's life; carries codes and ids, never a value. */
export function runEntry(run: RunRecord | NewRun, action: string, more: Partial<AuditEntry> = {}): AuditEntry {
  const { agentId, runId, keyId, request } = run;
  const { role } = request;
  return { action, agentId, runId, keyId, ...(role !== undefined && { role }), ...more };
}

/** What of a failure the entry of its run keeps. */
export const detailOf = ({ detail }: RunFailure): Pick<AuditEntry, "detail"> => (detail ? { detail } : {});

/** The entry of a query that its caller was not allowed: no run came of it. */
export function refusedQuery(
  { orgId, agentId, keyId }: Caller,
  role: string | undefined,
  rule: "role_not_allowed" | "context",
): AuditEntry & { orgId: string } {
  return { action: "query.refused", orgId, agentId, keyId, rule, ...(role !== undefined && { role }) };
}

/** The entries of a call that has ended: how, by which rule it was refused, and what of its result was withheld. */
export function callEntries(run: RunRecord, call: CallRecord): AuditEntry[] {
  const { outcome } = call;
  const about = { callId: call.callId, functionName: nameOf(call) };
  if (!outcome) return [runEntry(run, "call.failed", { ...about, rule: "cancelled" })];
  if (!outcome.ok) {
    const action = refusalOf(outcome) === undefined ? "call.failed" : "call.denied";
    const detail = isBeyondLimit(outcome) ? { detail: { reason: outcome.message } } : {};
    return [runEntry(run, action, { ...about, rule: ruleOf(outcome), ...detail })];
  }
  const entries = [runEntry(run, "call.succeeded", about)];
  const members = outcome.redacted ?? [];
  if (members.length === 0) return entries;
  const kept = members.slice(0, MEMBERS_KEPT).map((path) => path.slice(0, LIMITS.labelUnits));
  const detail = { members: kept, count: members.length };
  return [...entries, runEntry(run, "call.redacted", { ...about, detail })];
}

/** The runtime refused, by a rule of this side too, what this side had let through. */
export function disagreement(run: RunRecord, call: CallRecord): (AuditEntry & { rule: string }) | undefined {
  const { outcome } = call;
  if (outcome?.ok !== false || outcome.code !== "unknown_function") return undefined;
  const rule = ruleOf(outcome);
  const about = { callId: call.callId, functionName: nameOf(call) };
  return { ...runEntry(run, "access.disagreement", about), rule };
}

/** A model may say anything where a name belongs; what cannot be one is not kept. */
const nameOf = ({ functionName }: CallRecord): string =>
  FUNCTION_NAME.test(functionName) ? functionName : "(not a name)";
