import type { CallOutcome } from "@patchbay/protocol";

/** The rules that can refuse a call, in the control plane or in a runtime. Other values from a runtime are ignored. */
const RULES: ReadonlySet<string> = new Set(["roles", "unknown", "authorize", "context", "input", "approval"]);

/** The rule that refused a call, as the audit log names it. Undefined for a call that was allowed, even if it failed. */
export function refusalOf(outcome: CallOutcome): string | undefined {
  if (outcome.ok) return undefined;
  const rule = ruleOf(outcome);
  return RULES.has(rule) ? rule : undefined;
}

/** The rule that refused a call, or the error code of a call that failed otherwise. */
export function ruleOf({ rule, code }: Extract<CallOutcome, { ok: false }>): string {
  if (rule !== undefined && RULES.has(rule)) return rule;
  return { unknown_function: "unknown", denied: "authorize", invalid_arguments: "input" }[code as string] ?? code;
}
