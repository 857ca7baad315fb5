import {
  LIMITS,
  rolesAllow,
  type CallErrorCode,
  type CallOutcome,
  type Fault,
  type JsonValue,
  unknownFunctionMessage,
} from "@patchbay/protocol";
import { createCallContext } from "./call-context.ts";
import { parseContext } from "./context.ts";
import { isTimeoutError, withDeadline } from "./deadline.ts";
import { FunctionError } from "./errors.ts";
import type { FunctionDefinition } from "./function.ts";
import type { Invocation, InvokeOptions } from "./invocation.ts";
import { toJson } from "./json.ts";
import { createReference, type Log } from "./log.ts";
import type { Parse } from "./schema/parser.ts";

export interface GateSetup {
  functions: ReadonlyMap<string, FunctionDefinition<never>>;
  parseContext: Parse | undefined;
}

/** One call on its way through the gate. */
interface Passage {
  definition: FunctionDefinition<never>;
  invocation: Invocation;
  role: string | undefined;
  options: InvokeOptions;
  log: Log;
  /** Set once the handler has begun: from there on the call may have taken effect. */
  begun: boolean;
}

const NOT_PERMITTED = "This call is not permitted.";
const FAULTS_SHOWN = 32;

/**
 * The one way to a handler, for every caller. In this order: the function exists, the role list, the context, the schema of the
 * arguments, `authorize`, the handler, the schema of the result, and that the result can travel. Never rejects.
 */
export function createGate(setup: GateSetup): (invocation: Invocation, options: InvokeOptions) => Promise<CallOutcome> {
  return async (invocation, options) => {
    const { functionName, runId, callId, timeoutMs } = invocation;
    const log = options.log.child({ function: functionName.slice(0, 64), runId, callId });
    const { role } = invocation;
    const definition = setup.functions.get(functionName);
    // To whoever may not call it, a function is as good as not there: the same code and text for both.
    if (definition === undefined)
      return refuse(log, "unknown", "unknown_function", unknownFunctionMessage(functionName));
    if (!rolesAllow(definition.manifest.roles, role))
      return refuse(log, "roles", "unknown_function", unknownFunctionMessage(functionName));

    const passage: Passage = { definition, invocation, role, options, log, begun: false };
    return withDeadline(
      { timeoutMs: Math.min(timeoutMs, definition.manifest.timeoutMs), signal: options.signal },
      (signal) => pass(setup, passage, signal),
      (reason) => endedEarly(passage, reason),
    );
  };
}

async function pass(setup: GateSetup, passage: Passage, signal: AbortSignal): Promise<CallOutcome> {
  const { definition, invocation, role, log } = passage;
  try {
    const context = await parseContext(setup.parseContext, invocation.context);
    if (!context.ok)
      return refuse(log, "context", "denied", `The context of this query does not fit: ${listFaults(context.faults)}`);
    const input = await definition.parseInput(invocation.arguments);
    if (!input.ok) return refuse(log, "input", "invalid_arguments", `Invalid arguments: ${listFaults(input.faults)}`);

    // What a function was typed for is what it is given: the schema's context, or the one that was sent.
    const known = (definition.contextSchema === undefined ? invocation.context : context.value) as never;
    const refusal = await refusalOf(definition, { role, context: known, input: input.value as never }, log);
    if (refusal !== undefined) return refuse(log, "authorize", "denied", refusal);

    if (signal.aborted) return endedEarly(passage, signal.reason);
    passage.begun = true;
    return await runHandler(passage, input.value as never, known, signal);
  } catch (error) {
    return failed(log, "call failed", { error });
  }
}

/** Why `authorize` lets a call not through; undefined when it does. Only `true` does. */
async function refusalOf(
  { authorize }: FunctionDefinition<never>,
  access: { role: string | undefined; context: never; input: never },
  log: Log,
): Promise<string | undefined> {
  if (authorize === undefined) return undefined;
  try {
    const decision: unknown = await authorize(access);
    if (decision === true) return undefined;
    return typeof decision === "string" && decision !== "" ? decision : NOT_PERMITTED;
  } catch (error) {
    log.error("authorize failed", { error });
    return NOT_PERMITTED;
  }
}

async function runHandler(
  { definition, invocation, role, options, log }: Passage,
  input: never,
  known: never,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const call = createCallContext({ invocation, role, context: known, signal, log, onProgress: options.onProgress });
  try {
    const result = await definition.handler(input, call.context);
    return await deliver(definition, result, log);
  } catch (error) {
    if (error instanceof FunctionError && error.message !== "")
      return { ok: false, code: "function_failed", message: error.message };
    return failed(log, signal.aborted ? "function failed after its call had ended" : "function failed", { error });
  } finally {
    call.close();
  }
}

/** Makes an outcome of what a handler returned: only what the output schema lists, only what JSON carries, only what fits. */
async function deliver({ parseOutput }: FunctionDefinition<never>, result: unknown, log: Log): Promise<CallOutcome> {
  const parsed = (await parseOutput?.(result)) ?? { ok: true, value: result };
  if (!parsed.ok) return failed(log, "result does not fit the output schema", { faults: listFaults(parsed.faults) });
  const value: JsonValue = toJson(parsed.value);
  const sizeBytes = Buffer.byteLength(JSON.stringify(value));
  if (sizeBytes <= LIMITS.resultBytes) return { ok: true, value };
  return {
    ok: false,
    code: "result_too_large",
    message: `The function ran, but its result has ${sizeBytes} bytes and at most ${LIMITS.resultBytes} are taken.`,
  };
}

function refuse(log: Log, rule: string, code: CallErrorCode, message: string): CallOutcome {
  log.info("call refused", { rule });
  return { ok: false, code, message, rule };
}

function failed(log: Log, what: string, fields: Record<string, unknown>): CallOutcome {
  const reference = createReference();
  log.error(what, { reference, ...fields });
  return { ok: false, code: "function_failed", message: `The function failed. Reference: ${reference}` };
}

function endedEarly({ begun, definition }: Passage, reason: unknown): CallOutcome {
  const late = isTimeoutError(reason);
  const doubt = begun && definition.manifest.effect !== "read" ? " It may have taken effect." : "";
  const what = begun ? "before the function had finished" : "before the function began";
  return late
    ? { ok: false, code: "timed_out", message: `The time was over ${what}.${doubt}` }
    : { ok: false, code: "cancelled", message: `The call was cancelled ${what}.${doubt}` };
}

function listFaults(faults: readonly Fault[]): string {
  const shown = faults
    .slice(0, FAULTS_SHOWN)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const rest = faults.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}
