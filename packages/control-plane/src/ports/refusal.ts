import type { CallOutcome } from "@patchbay/protocol";

/** What can refuse a call, on either side of the link. Whatever else a runtime names is not believed, and not kept. */
const RULES: ReadonlySet<string> = new Set(["roles", "unknown", "authorize", "context", "input"]);

/** What refused a call, in the words of the audit log; undefined for one that was let through, however it ended. */
export function refusalOf(outcome: CallOutcome): string | undefined {
  if (outcome.ok) return undefined;
  const rule = ruleOf(outcome);
  return RULES.has(rule) ? rule : undefined;
}

/** What refused a call, or the code it failed with. */
export function ruleOf({ rule, code }: Extract<CallOutcome, { ok: false }>): string {
  if (rule !== undefined && RULES.has(rule)) return rule;
  return { unknown_function: "unknown", denied: "authorize", invalid_arguments: "input" }[code as string] ?? code;
}
