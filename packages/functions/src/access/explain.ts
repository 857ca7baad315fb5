import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { Rule } from "../admission.ts";
import type { Service } from "../service.ts";
import { noteOf } from "./matrix.ts";

/** One call to explain: which function, as which role, with what. */
export interface AccessQuestion {
  functionName: string;
  role?: string | undefined;
  /** The arguments; without them the answer says what the role list alone decides. */
  input?: JsonValue | undefined;
  /** What the query's contextJson holds. Default `{}`. */
  context?: JsonObject | undefined;
}

/** Why a call would get through or not. It names hidden functions and rules: an answer for the owner, never for a caller. */
export interface AccessExplanation {
  functionName: string;
  /** The role that was judged: the service's default role where none was given. Null = no role. */
  role: string | null;
  /** `depends` where the arguments decide, and none were given. */
  decision: "allowed" | "denied" | "depends";
  /** What decided. */
  rule: Rule | "allowed";
  sentence: string;
  /** Marked members that the role does not get; empty when the call is denied. */
  hides: string[];
}

/** Asks the gate about one call and says which rule decided. Runs no handler. */
export async function explainAccess(service: Service, question: AccessQuestion): Promise<AccessExplanation> {
  const { functionName, input, context = {} } = question;
  const role = question.role || service.manifest.defaultRole;
  const subject = role === undefined ? "a query without a role" : `role ${role}`;
  const verdict = await service.check({ functionName, role, context, arguments: input ?? {} });
  const manifest = service.manifest.functions.find(({ name }) => name === functionName);
  const answer = (decision: AccessExplanation["decision"], rule: AccessExplanation["rule"], sentence: string) => {
    const hides = decision === "denied" ? [] : (service.access.get(functionName)?.protection?.hiddenFrom(role) ?? []);
    return { functionName, role: role ?? null, decision, rule, sentence, hides };
  };

  const roles = manifest?.roles === "everyone" ? "everyone" : (manifest?.roles ?? []).join(", ");
  if (!verdict.ok && (verdict.rule === "unknown" || verdict.rule === "roles" || verdict.rule === "context")) {
    const { rule, outcome, error } = verdict;
    const why: Record<typeof rule, string> = {
      unknown: `The service has no function ${functionName}.`,
      roles: `The role list of ${functionName} is ${roles}: to ${subject} the function is hidden, so it is neither shown to the model nor run.`,
      context: `The context does not fit what the service expects, so the query is refused before it begins. ${error === undefined ? outcome.message : noteOf(rule, error)}`,
    };
    return answer("denied", rule, why[rule]);
  }
  const listed = `The role list of ${functionName} (${roles}) lets ${subject} call it`;
  if (input === undefined) {
    return manifest?.conditional
      ? answer("depends", "authorize", `${listed}, and authorize decides call by call. Give the arguments to see how.`)
      : answer("allowed", "allowed", `${listed}, and nothing but the schema of its arguments decides call by call.`);
  }
  if (verdict.ok) {
    const then = manifest?.conditional ? "and authorize allowed this call" : "and no authorize stands before it";
    return answer("allowed", "allowed", `${listed}, the arguments fit, ${then}.`);
  }
  const { rule, outcome, error } = verdict;
  const told = error === undefined ? outcome.message : `${noteOf(rule, error)}, which denies the call.`;
  return answer(
    "denied",
    rule,
    `${listed}, but ${rule === "input" ? "the arguments do not fit" : "authorize refused"}: ${told}`,
  );
}
