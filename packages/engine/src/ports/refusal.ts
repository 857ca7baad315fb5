import { present } from "@patchbay/kit";
import type { CallErrorCode, CallOutcome, CaseDecision } from "@patchbay/protocol";
import type { CallRecord } from "./records.ts";

/** The outcome of a call without a result. */
export type CallFailure = Extract<CallOutcome, { ok: false }>;

export const callFailure = (code: CallErrorCode, message: string, rule?: string): CallFailure => ({
  ok: false,
  code,
  message,
  ...present({ rule }),
});

/** The rules that can refuse a call, in the control plane or in a runtime. Other values from a runtime are ignored. */
export const refusalRules: ReadonlySet<string> = new Set([
  "roles",
  "unknown",
  "authorize",
  "context",
  "input",
  "flow",
  "approval",
  "hook",
  "caller_token",
]);

/** The rule that refused a call, as the audit log names it. Undefined for an allowed call, even if it failed. */
export function refusalOf(outcome: CallOutcome): string | undefined {
  if (outcome.ok) return undefined;
  const rule = ruleOf(outcome);
  return refusalRules.has(rule) ? rule : undefined;
}

/** The rule that refused a call, or the error code if it failed otherwise. */
export function ruleOf({ rule, code }: CallFailure): string {
  if (rule !== undefined && refusalRules.has(rule)) return rule;
  return { unknown_function: "unknown", denied: "authorize", invalid_arguments: "input" }[code as string] ?? code;
}

/** Failures that do not show whether the runtime's checks had allowed the call. */
const UNDECIDED: ReadonlySet<CallErrorCode> = new Set([
  "timed_out",
  "outcome_unknown",
  "call_limit",
  "repeated_call",
  "cancelled",
]);

type Ended = Required<Pick<CallRecord, "outcome">> & Pick<CallRecord, "earlier">;

/**
 * What the checks decided on an ended call, before any person did. Undefined if none decided: the control plane ended it at one of its
 * limits, or no runtime took it.
 */
export function decisionOf({ outcome, earlier = [] }: Ended): CaseDecision | undefined {
  if (earlier.some(({ ended }) => ended === "approval")) return "approval";
  if (outcome.ok) return "allowed";
  const { code, rule } = outcome;
  if (code === "approval_required" || code === "rejected" || code === "approval_expired") return "approval";
  // The runtime asks for the token after its checks.
  if (code === "result_too_large" || rule === "caller_token") return "allowed";
  if (refusalOf(outcome) !== undefined) return "denied";
  // The other rules are the control plane's own, for calls that it did not send.
  return UNDECIDED.has(code) || rule !== undefined ? undefined : "allowed";
}
