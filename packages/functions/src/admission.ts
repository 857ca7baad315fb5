import {
  rolesAllow,
  type CallErrorCode,
  type JsonObject,
  type JsonValue,
  unknownFunctionMessage,
} from "@patchbay/protocol";
import { parseContext } from "./context.ts";
import { failed, listFaults, type FailedOutcome } from "./errors.ts";
import type { FunctionDefinition } from "./function.ts";
import type { Log } from "./log.ts";
import type { Parse } from "./schema/schema.ts";

/** The rules that a call must pass before its handler runs, in their order. */
export const RULES = ["unknown", "roles", "context", "input", "authorize"] as const;
/** One of {@link RULES}. */
export type Rule = (typeof RULES)[number];

/** A function call to check: the function, its caller and the arguments. */
export interface AccessRequest {
  functionName: string;
  role?: string | undefined;
  /** The object of a query's `contextJson`. */
  context: JsonObject;
  arguments: JsonValue;
}

/** A refused call. `rule` is for the owner, `outcome` is for the caller. */
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

/** Checks the context, the arguments and `authorize` of a function that the role may call. Never rejects. */
export async function admit(
  definition: FunctionDefinition<never>,
  request: AccessRequest,
  { contextParser, log }: { contextParser: Parse | undefined; log: Log },
): Promise<Admitted | Refusal> {
  let rule: Rule = "context";
  try {
    const context = await parseContext(contextParser, request.context);
    if (!context.ok)
      return refuse(log, rule, "denied", `The context of this query is invalid: ${listFaults(context.faults)}`);
    rule = "input";
    const input = await definition.parseInput(request.arguments);
    if (!input.ok) return refuse(log, rule, "invalid_arguments", `Invalid arguments: ${listFaults(input.faults)}`);
    // Matches the type of the handler's context: the output of the schema, or the context as it was sent.
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

/** The refusal of `authorize`. Undefined if it allows the call, which only `true` does. */
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
