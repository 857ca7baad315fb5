import {
  rolesAllow,
  type CallErrorCode,
  type CallOutcome,
  type Fault,
  type JsonObject,
  type JsonValue,
  unknownFunctionMessage,
} from "@patchbay/protocol";
import { parseContext } from "./context.ts";
import type { FunctionDefinition } from "./function.ts";
import { createReference, type Log } from "./log.ts";
import type { Parse } from "./schema/parser.ts";

/** What stands before a handler: the rules of a call, in the order in which they are asked. */
export const RULES = ["unknown", "roles", "context", "input", "authorize"] as const;
/** One of {@link RULES}. */
export type Rule = (typeof RULES)[number];

/** Who wants to call a function with what. */
export interface AccessRequest {
  functionName: string;
  role?: string | undefined;
  /** What a query's contextJson holds. */
  context: JsonObject;
  arguments: JsonValue;
}

type FailedOutcome = Extract<CallOutcome, { ok: false }>;

/** A call that did not get to its handler: the rule that refused is for the owner, `outcome` is what the caller is told. */
export interface Refusal {
  ok: false;
  rule: Rule;
  outcome: FailedOutcome;
  /** What the owner's own code threw; for the owner's eyes alone. */
  error?: unknown;
}

export interface Admitted {
  ok: true;
  /** The arguments and the context, as the handler is given them. */
  input: never;
  context: never;
}

/** Finds what a role may call at all. To whoever may not call it, a function is as good as not there: the same code and text for both. */
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

/** Asks, of a function that was found for the role: the context, the schema of the arguments, `authorize`. Never rejects. */
export async function admit(
  definition: FunctionDefinition<never>,
  request: AccessRequest,
  { contextParser, log }: { contextParser: Parse | undefined; log: Log },
): Promise<Admitted | Refusal> {
  let rule: Rule = "context";
  try {
    const context = await parseContext(contextParser, request.context);
    if (!context.ok)
      return refuse(log, rule, "denied", `The context of this query does not fit: ${listFaults(context.faults)}`);
    rule = "input";
    const input = await definition.parseInput(request.arguments);
    if (!input.ok) return refuse(log, rule, "invalid_arguments", `Invalid arguments: ${listFaults(input.faults)}`);
    // What a function was typed for is what it is given: the schema's context, or the one that was sent.
    const known = (definition.contextSchema === undefined ? request.context : context.value) as never;
    const refusal = await refusalOf(
      definition,
      { role: request.role, context: known, input: input.value as never },
      log,
    );
    return refusal ?? { ok: true, input: input.value as never, context: known };
  } catch (error) {
    return { ok: false, rule, outcome: failed(log, "call failed", { error }), error };
  }
}

const NOT_PERMITTED = "This call is not permitted.";

/** Why `authorize` lets a call not through; undefined when it does. Only `true` does. */
async function refusalOf(
  { authorize }: FunctionDefinition<never>,
  access: { role: string | undefined; context: never; input: never },
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

function refuse(log: Log, rule: Rule, code: CallErrorCode, message: string): Refusal {
  log.info("call refused", { rule });
  return { ok: false, rule, outcome: { ok: false, code, message, rule } };
}

/** The outcome of what the owner's code broke: the reference leads to the line of the log, nothing else leaves the process. */
export function failed(log: Log, what: string, fields: Record<string, unknown>): FailedOutcome {
  const reference = createReference();
  log.error(what, { reference, ...fields });
  return { ok: false, code: "function_failed", message: `The function failed. Reference: ${reference}` };
}

const FAULTS_SHOWN = 32;

export function listFaults(faults: readonly Fault[]): string {
  const shown = faults
    .slice(0, FAULTS_SHOWN)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const rest = faults.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}
