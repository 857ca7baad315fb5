import {
  APPROVAL_REQUIRED,
  approvalRuleOf,
  CALLER,
  type CallerIdentity,
  LIMITS,
  rolesAllow,
  type CallErrorCode,
  type Fault,
  type FlowFault,
  type FunctionManifest,
  type GrantedApproval,
  unknownFunctionMessage,
} from "@patchbay/protocol";
import { isEncoded, type JsonObject, type JsonValue, present } from "@patchbay/kit";
import { approvalFault } from "./approval.ts";
import { withoutToken } from "./caller-token.ts";
import { parseContext } from "./context.ts";
import { failed, failure, listFaults, type FailedOutcome } from "./errors.ts";
import { flowDecision } from "./flow/decide.ts";
import type { Access } from "./decision.ts";
import type { FunctionDefinition } from "./function.ts";
import { type CallHook, runCallHook } from "./hooks.ts";
import type { Invocation } from "./invocation.ts";
import type { Log } from "./log.ts";
import type { Parse } from "./schema/schema.ts";

/** The rules that a call must pass before its handler runs, in their order. */
export const RULES = ["unknown", "roles", "context", "input", "authorize", "flow", "approval", "hook"] as const;
/** One of {@link RULES}. */
export type Rule = (typeof RULES)[number];

/** A function call to check: the function, its caller and the arguments. */
export interface AccessRequest {
  functionName: string;
  role?: string | undefined;
  /** The object in a query's `contextJson`. */
  context: JsonObject;
  /** What a token proved about the query's caller. */
  caller?: CallerIdentity | undefined;
  arguments: JsonValue;
}

/**
 * A refused call. `rule` is for the owner, `outcome` is for the caller. A call that needs an approval and has none is refused with
 * the code `approval_required`.
 */
export interface Refusal {
  ok: false;
  rule: Rule;
  outcome: FailedOutcome;
  /** The error that the owner's own code threw. Never send it to a caller. */
  error?: unknown;
}

/** A call that passed every rule. */
export interface Admitted {
  ok: true;
  /** The arguments as the approver edited them, else as the model wrote them. */
  given: JsonValue;
  /** The approver's decision, if the call needs one. */
  approval: GrantedApproval | undefined;
  /** The arguments and the context that the handler receives. */
  input: never;
  context: never;
}

/** Finds a function that the role may call. An unknown and a forbidden function give the same code and message, so that the caller cannot tell which functions exist. */
export function findFunction(
  functions: ReadonlyMap<string, FunctionDefinition<never>>,
  { functionName, role }: Pick<AccessRequest, "functionName" | "role">,
  log: Log,
): { ok: true; definition: FunctionDefinition<never> } | Refusal {
  const definition = functions.get(functionName);
  if (definition !== undefined && rolesAllow(definition.manifest.roles, role)) return { ok: true, definition };
  const rule = definition === undefined ? "unknown" : "roles";
  return refuse(log, rule, "unknown_function", unknownFunctionMessage(functionName));
}

/** Checks the approval, the context, the arguments and `authorize` for a function that the role may call. Never rejects. */
export async function admit(
  definition: FunctionDefinition<never>,
  request: AccessRequest,
  { contextParser, log, delivery: delivered }: { contextParser: Parse | undefined; log: Log; delivery?: Delivery },
): Promise<Admitted | Refusal> {
  let rule: Rule = "approval";
  const delivery = delivered?.invocation;
  try {
    const ofPeople = approvalRuleOf(definition.manifest);
    const approval = ofPeople && delivery?.approval;
    const fault = approval && approvalFault(ofPeople, { role: undefined, ...delivery, approval });
    if (fault !== undefined) {
      log.error("refused an approval that is not one of its call", { fault });
      return refuse(log, rule, "denied", `The approval of this call is not valid: ${fault}.`);
    }
    const given = approval?.edited ?? request.arguments;
    rule = "context";
    const context = await parseContext(contextParser, request.context);
    if (!context.ok)
      return refuse(log, rule, "denied", `The context of this query is invalid: ${listFaults(context.faults)}`);
    rule = "input";
    const input = await definition.parseInput(given);
    if (!input.ok) {
      const faults = listFaults(input.faults.map((one) => withAdvice(one, given)));
      return refuse(log, rule, "invalid_arguments", `Invalid arguments: ${faults}`);
    }
    // Matches the handler's context type: the schema's output, or the context as it was sent.
    const known = (definition.contextSchema === undefined ? request.context : context.value) as never;
    const { role } = request;
    const caller = withoutToken(request.caller);
    const access = { role, caller, context: known, input: input.value as never };
    const refusal = await refusalOf(definition, access, log);
    if (refusal !== undefined) return refusal;
    rule = "flow";
    const flow = delivery && !approval ? flowDecision(definition.manifest, given, delivery) : undefined;
    if (flow && !flow.asks) return withFault(refuse(log, rule, "denied", flow.reason), flow.fault);
    rule = "approval";
    const own = definition.manifest.approval && !approval ? await reasonToAsk(definition, access) : undefined;
    const reason = own ?? flow?.reason;
    // A request that no person could decide would only expire.
    const noApprover = request.role === undefined && ofPeople?.by.every((name) => name === CALLER);
    if (reason !== undefined && noApprover) return refuse(log, rule, "denied", NO_APPROVER);
    if (reason !== undefined) return withFault(refuse(log, rule, "approval_required", reason), flow?.fault);
    // The hook is the service's, so its context is, too.
    const seen = { input: access.input, context: context.value as never, caller };
    const refused = delivered && (await refusedByHook(definition.manifest, seen, delivered, log));
    return refused ?? { ok: true, given, approval, input: access.input, context: known };
  } catch (error) {
    return { ok: false, rule, outcome: failed(log, "call failed", { error }), error };
  }
}

/** A call that is about to run. */
interface Delivery {
  invocation: Invocation;
  beforeCall: CallHook<never> | undefined;
  signal: AbortSignal;
}

async function refusedByHook(
  manifest: FunctionManifest,
  seen: { input: unknown; context: never; caller: CallerIdentity | undefined },
  { invocation: { role, flow }, beforeCall, signal }: Delivery,
  log: Log,
): Promise<Refusal | undefined> {
  if (!beforeCall) return undefined;
  const { tainted = true, secret = true, direct = false } = flow ?? {};
  const labels = manifest.flow?.mode === undefined ? undefined : { tainted, secret, direct };
  const review = { ...seen, functionName: manifest.name, role, labels };
  const verdict = await runCallHook(beforeCall, review, { signal, timeoutMs: LIMITS.hookTimeoutMs, log });
  if (verdict.verdict === "passed") return undefined;
  return refuse(log, "hook", "denied", verdict.verdict === "refused" ? verdict.text : NOT_PERMITTED);
}

const withFault = (refusal: Refusal, flowFault: FlowFault | undefined): Refusal => ({
  ...refusal,
  outcome: { ...refusal.outcome, ...present({ flowFault }) },
});

/** Small models encode an array or object twice, and do not see it from "expected array, received string". */
function withAdvice({ path, message }: Fault, given: JsonValue): Fault {
  const value = path.split(".").reduce<unknown>((at, name) => (path === "" ? at : Object(at)[name]), given);
  const wantsOther = /\b(array|object|record|tuple)\b|^Invalid input$/i.test(message);
  return {
    path,
    message: wantsOther && isEncoded(value) ? `${message}; write the value itself, not as text` : message,
  };
}

const NO_APPROVER = "The role of the query must confirm this call, and the query has no role. Send it with a role.";
const NOT_PERMITTED = "This call is not permitted.";

/** The refusal from `authorize`. Undefined if it allows the call, which only `true` does. */
async function refusalOf(
  { authorize }: FunctionDefinition<never>,
  access: Access<never, never>,
  log: Log,
): Promise<Refusal | undefined> {
  if (authorize === undefined) return undefined;
  try {
    const decision: unknown = await authorize(access);
    if (decision === true) return undefined;
    const text = typeof decision === "string" && decision !== "" ? decision : NOT_PERMITTED;
    return refuse(log, "authorize", "denied", text);
  } catch (error) {
    log.error("authorize failed", { error });
    return { ...refuse(log, "authorize", "denied", NOT_PERMITTED), error };
  }
}

/** Why the owner asks for approval. Undefined if it needs none, which only `false` says. */
async function reasonToAsk(
  { needsApproval }: FunctionDefinition<never>,
  access: Access<never, never>,
): Promise<string | undefined> {
  const decision: unknown = needsApproval === undefined || (await needsApproval(access));
  if (decision === false) return undefined;
  if (typeof decision !== "string" || decision === "") return APPROVAL_REQUIRED;
  return decision.slice(0, LIMITS.approvalReasonUnits);
}

function refuse(log: Log, rule: Rule, code: CallErrorCode, message: string): Refusal {
  log.info("call refused", { rule });
  return { ok: false, rule, outcome: failure(code, message, rule) };
}
