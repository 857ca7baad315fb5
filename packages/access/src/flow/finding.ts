import type { FlowFault, FlowMode, Judgement } from "@patchbay/protocol";
import { RANK } from "../sentences.ts";

/** Why data-flow rules do not allow a stored call, and what they do with it. */
export interface FlowFinding {
  mode: FlowMode;
  fault: FlowFault;
  /** The functions whose results led to it. */
  after: string[];
}

const DECISIONS = { report: "allowed", ask: "approval", deny: "denied" } as const;
const BY_FLOW = "flow: ";

/** What the checks decide on a call, with what data-flow rules do. The rule is then such as `flow: target`. */
export function withFlow(judged: Judgement, found: FlowFinding | undefined): Judgement {
  if (!found || judged.decision === undefined || judged.decision === "denied") return judged;
  const decision = DECISIONS[found.mode];
  const isStricter = RANK[decision] < RANK[judged.decision];
  return { decision: isStricter ? decision : judged.decision, rule: `${BY_FLOW}${found.fault.rule}` };
}

/** The data-flow rule in a decision. */
export const flowRuleOf = ({ rule }: Judgement): string | undefined =>
  rule?.startsWith(BY_FLOW) ? rule.slice(BY_FLOW.length) : undefined;

/** A decision with the rule that did not allow the call: `denied (authorize)`, `approval (flow: target)`. */
export function nameDecision({ decision, rule }: Judgement): string {
  const isNamed = decision === "denied" ? rule !== undefined : decision === "approval" && flowRuleOf({ rule });
  return isNamed ? `${decision} (${rule})` : decision!;
}
