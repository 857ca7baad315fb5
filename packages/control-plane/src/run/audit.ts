import { FUNCTION_NAME, LIMITS, type CallOutcome } from "@patchbay/protocol";
import type { AuditEntry, CallRecord, RunRecord } from "../ports/records.ts";
import type { NewRun } from "../ports/run-store.ts";
import type { Caller } from "./api.ts";

/** What can refuse a call, on either side of the link. Whatever else a runtime names is not believed, and not kept. */
const RULES: ReadonlySet<string> = new Set(["roles", "unknown", "authorize", "context", "input"]);
const MEMBERS_KEPT = 100;

/** The entry of an event in a run's life; carries codes and ids, never a value. */
export function runEntry(run: RunRecord | NewRun, action: string, more: Partial<AuditEntry> = {}): AuditEntry {
  const { agentId, runId, keyId, request } = run;
  const { role } = request;
  return { action, agentId, runId, keyId, ...(role !== undefined && { role }), ...more };
}

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
    return [runEntry(run, action, { ...about, rule: ruleOf(outcome) })];
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

/** What refused a call, in the words of the audit log; undefined for one that was let through, however it ended. */
export function refusalOf(outcome: CallOutcome): string | undefined {
  if (outcome.ok) return undefined;
  const rule = ruleOf(outcome);
  return RULES.has(rule) ? rule : undefined;
}

function ruleOf({ rule, code }: Extract<CallOutcome, { ok: false }>): string {
  if (rule !== undefined && RULES.has(rule)) return rule;
  return { unknown_function: "unknown", denied: "authorize", invalid_arguments: "input" }[code as string] ?? code;
}

/** A model may say anything where a name belongs; what cannot be one is not kept. */
const nameOf = ({ functionName }: CallRecord): string =>
  FUNCTION_NAME.test(functionName) ? functionName : "(not a name)";
