import { accessSurface, type FlowNeed, flowNeeds, NO_ROLE } from "@patchbay/access";
import { type CallerIdentity, explainDenial, inheritedFrom, listRoles } from "@patchbay/protocol";
import { type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Rule } from "../admission.ts";
import type { Service } from "../service.ts";
import { noteOf } from "./matrix.ts";

/** A call to explain: the function, its caller and the arguments. */
export interface AccessQuestion {
  functionName: string;
  role?: string | undefined;
  /** The arguments. Without them, the answer is the role list's decision. */
  input?: JsonValue | undefined;
  /** The object in the query's `contextJson`. Default `{}`. */
  context?: JsonObject | undefined;
  /** What a token would prove about the query's caller. Default: nothing. */
  caller?: CallerIdentity | undefined;
}

/** Why a call is allowed or denied. It names hidden functions and rules: an answer for the owner, never for a caller. */
export interface AccessExplanation {
  functionName: string;
  /** The decision's role: the given one, or the service's default role. Null without a role. */
  role: string | null;
  /** `approval` if a person must approve the call, `depends` if the arguments decide, and none were given. */
  decision: "allowed" | "approval" | "denied" | "depends";
  /** The rule that decided. */
  rule: Rule | "allowed";
  sentence: string;
  /** Restricted fields that the role does not receive. Empty if the call is denied. */
  hides: string[];
  /** What the service's data-flow rules need besides. Absent without rules, and if the call is denied. */
  flow?: FlowNeed[];
}

/** Runs the gate's checks on one call, without its handler, and names the rule that decided. */
export async function explainAccess(service: Service, question: AccessQuestion): Promise<AccessExplanation> {
  const { functionName, input, context = {}, caller } = question;
  const role = question.role || service.manifest.defaultRole;
  const verdict = await service.check({ functionName, role, context, caller, arguments: input ?? {} });
  const { functions, roleOptions } = service.manifest;
  const { roles = [], conditional, approval } = functions.find(({ name }) => name === functionName) ?? {};
  const answer = (decision: AccessExplanation["decision"], rule: AccessExplanation["rule"], sentence: string) => {
    const hides = decision === "denied" ? [] : (service.access.get(functionName)?.protection?.hiddenFrom(role) ?? []);
    const flow = decision === "denied" ? [] : flowNeeds(accessSurface(service.manifest), functionName, role ?? NO_ROLE);
    return { functionName, role: role ?? null, decision, rule, sentence, hides, ...(flow.length > 0 && { flow }) };
  };

  const asks = !verdict.ok && verdict.outcome.code === "approval_required";
  const needsArguments = (rule: Rule) => rule === "input" || rule === "authorize" || rule === "approval";
  if (!verdict.ok && !asks && (input !== undefined || !needsArguments(verdict.rule))) {
    const { rule, outcome, error } = verdict;
    const message = error === undefined ? outcome.message : `${noteOf(rule, error)}, which denies the call.`;
    return answer("denied", rule, explainDenial({ functionName, role, rule, roles, message }));
  }
  const subject = role === undefined ? "a query without a role" : `role ${role}`;
  const from = role === undefined ? [] : inheritedFrom(role, roles, roleOptions);
  const through = from.length === 0 ? "" : `, which includes ${from.join(", ")}`;
  const allows = `The role list of ${functionName} (${listRoles(roles)}) allows ${subject}${through}`;
  const by = approval?.by.join(" or ");
  if (input === undefined) {
    if (conditional || approval?.conditional) {
      const asks = approval
        ? `, and ${approval.conditional ? "some calls need" : "every call needs"} the approval of ${by}`
        : "";
      const what = conditional
        ? `authorize decides each call${asks}`
        : `when decides which calls need the approval of ${by}`;
      const rule = conditional ? "authorize" : "approval";
      return answer("depends", rule, `${allows}, and ${what}. Give the arguments to evaluate it.`);
    }
    return approval
      ? answer("approval", "approval", `${allows}, and every call needs the approval of ${by}.`)
      : answer("allowed", "allowed", `${allows}, and nothing except the schema of the arguments decides further.`);
  }
  const then = conditional ? "authorize allows the call" : "the function has no authorize";
  if (!verdict.ok) {
    const why = verdict.outcome.message;
    return answer(
      "approval",
      "approval",
      `${allows}, the arguments are valid, ${then}, and ${by} must approve it: ${why}`,
    );
  }
  return answer("allowed", "allowed", `${allows}, the arguments are valid, and ${then}.`);
}
