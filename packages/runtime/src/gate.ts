import { labelsIn, labelsOf } from "@patchbay/access";
import { type CallOutcome, type FunctionManifest, LIMITS } from "@patchbay/protocol";
import { canonicalJson, isJsonObject, type JsonValue } from "@patchbay/kit";
import { type AccessRequest, admit, type Admitted, findFunction, type Refusal } from "./admission.ts";
import { tokenRefusal } from "./caller-token.ts";
import { asCall } from "./call-in-progress.ts";
import type { CallHook } from "./hooks.ts";
import { createCallContext, type Invocation, type InvokeOptions } from "./invocation.ts";
import { isTimeoutError, withDeadline } from "./deadline.ts";
import { failed, failure, FunctionError, listFaults, OutcomeUnknownError } from "./errors.ts";
import type { FunctionDefinition } from "./function.ts";
import { lossOf, toJson } from "./json.ts";
import { MAY_HAVE_RUN, MAY_HAVE_TAKEN_EFFECT, reconciled } from "./reconcile.ts";
import { retryAfter } from "./retries.ts";
import type { Log } from "./log.ts";
import type { Parse } from "./schema/schema.ts";
import { isDeepStrictEqual } from "node:util";
import { withDefaults } from "./schema/defaults.ts";
import { dropUnlisted } from "./schema/unlisted.ts";

/** The functions behind a gate. */
export interface GateSetup {
  functions: ReadonlyMap<string, FunctionDefinition<never>>;
  parseContext: Parse | undefined;
  beforeCall: CallHook<never> | undefined;
}

/** One attempt at a call in the gate. */
interface CallAttempt {
  definition: FunctionDefinition<never>;
  invocation: Invocation;
  options: InvokeOptions;
  log: Log;
  /** True once the handler has begun, so that the call may have taken effect. */
  begun: boolean;
  /** True while an earlier attempt may have taken effect. */
  isUnsure: boolean;
}

/**
 * Creates the gate before the handlers, the only access to them. It checks, in this order: the function exists, the role list, the approver's
 * decision if the delivery has one, the context, the input schema, `authorize`, whether the call needs an approval, and `beforeCall`.
 * After the handler: the result schema, restricted fields, and the result size.
 */
export function createGate({ functions, parseContext, beforeCall }: GateSetup) {
  return {
    /** Checks and runs a call. Never rejects. */
    async invoke(invocation: Invocation, options: InvokeOptions): Promise<CallOutcome> {
      const { functionName, runId, callId, timeoutMs } = invocation;
      // Any other name may be a text from the model.
      const name = functions.has(functionName) ? { functionName } : {};
      const log = options.log.child({ ...name, runId, callId });
      const found = findFunction(functions, invocation, log);
      if (!found.ok) return found.outcome;

      const { definition } = found;
      const { deprecated } = definition.manifest;
      if (deprecated !== undefined) log.warn("a deprecated function is called", { instead: deprecated });
      // A function set in which calls may run twice has decided on this attempt.
      if (invocation.unsure && !mayContinue(definition)) return MAY_HAVE_RUN;
      const isUnsure = definition.reconcile !== undefined && invocation.unsure === true;
      const attempt: CallAttempt = { definition, invocation, options, log, begun: false, isUnsure };
      const work = async (signal: AbortSignal): Promise<CallOutcome> => {
        const admitted = await admit(definition, invocation, {
          contextParser: parseContext,
          log,
          delivery: { invocation, beforeCall, signal },
        });
        if (admitted.ok) {
          const run = isUnsure ? resume(attempt, admitted, signal) : runHandler(attempt, admitted, signal);
          return labelled(definition, await run);
        }
        if (admitted.error !== undefined) options.onError?.(admitted.error);
        // A refusal would say that the call did not run.
        return isUnsure ? MAY_HAVE_RUN : admitted.outcome;
      };
      return withDeadline(
        {
          timeoutMs: Math.min(timeoutMs, definition.manifest.timeoutMs),
          signal: options.signal,
          onOverrun: options.onOverrun,
        },
        (signal) => asCall({ functionName, runId, callId }, () => work(signal)),
        (reason) => endedEarly(attempt, reason),
      );
    },

    /** Runs the same checks without the handler. Never rejects. */
    async check(request: AccessRequest, { log }: { log: Log }): Promise<{ ok: true } | Refusal> {
      const found = findFunction(functions, request, log);
      if (!found.ok) return found;
      const { definition } = found;
      return withDeadline<{ ok: true } | Refusal>(
        { timeoutMs: definition.manifest.timeoutMs, signal: NEVER },
        async () => {
          const admitted = await admit(definition, request, { contextParser: parseContext, log });
          return admitted.ok ? { ok: true } : admitted;
        },
        () => ({ ok: false, rule: "authorize", outcome: TOO_SLOW }),
      );
    },
  };
}

/** The outcome with the labels of its function. */
function labelled({ manifest, labels }: FunctionDefinition<never>, outcome: CallOutcome): CallOutcome {
  const rules = labelsOf(manifest);
  const own = rules && (outcome.ok ? labels?.of(outcome.value) : labelsIn(rules, outcome));
  const isWithheld = manifest.flow?.withheld === true;
  const all = {
    ...own,
    ...(rules?.untrusted?.includes("$") && { untrusted: ["$"] }),
    ...(isWithheld && { withheld: true }),
  };
  return Object.keys(all).length > 0 ? { ...outcome, flow: all } : outcome;
}

/** True if a call may be delivered again after an attempt with an unknown outcome. */
const mayContinue = (definition: FunctionDefinition<never>): boolean =>
  definition.reconcile !== undefined || mayRepeat(definition);

/** True if a second call does no harm. */
const mayRepeat = ({ manifest: { effect, idempotent } }: FunctionDefinition<never>): boolean =>
  idempotent || effect === "read";

const NEVER = new AbortController().signal;
const TOO_SLOW = failure("timed_out", "Timed out before the function started.");

async function runHandler(
  attempt: CallAttempt,
  { given, input, context, approval }: Admitted,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const { definition, invocation, options, log } = attempt;
  if (signal.aborted) return endedEarly(attempt, signal.reason);
  const refusal = tokenRefusal(definition.manifest, invocation.caller);
  if (refusal) return refusal;
  reportReached(attempt, { given, input });
  attempt.begun = true;
  options.onBegin?.();
  const { onProgress } = options;
  const call = createCallContext({ invocation, context, approval, signal, log, onProgress });
  let returned = false;
  try {
    const result = await definition.handler(input, call.context);
    returned = true;
    return await deliver(attempt, result);
  } catch (error) {
    options.onError?.(error);
    if (error instanceof FunctionError && error.message !== "") return failure("function_failed", error.message);
    if (error instanceof OutcomeUnknownError && !mayRepeat(definition)) {
      log.error("function failed, and its call may have taken effect", { error });
      return MAY_HAVE_TAKEN_EFFECT;
    }
    const what = signal.aborted ? "function failed after its call had ended" : "function failed";
    const { retries } = definition;
    const outcome = failed(log, what, { error, ...(retries && { attempt: invocation.attempt }) });
    // A result that cannot be delivered would be the same again.
    const retryAfterMs = returned ? undefined : retryAfter(retries, error, { attempt: invocation.attempt, log });
    return retryAfterMs === undefined ? outcome : { ...outcome, retryAfterMs };
  } finally {
    call.close();
  }
}

/** Continues a call whose earlier attempt was interrupted. */
async function resume(attempt: CallAttempt, admitted: Admitted, signal: AbortSignal): Promise<CallOutcome> {
  const { definition, invocation, options, log } = attempt;
  const { input, context } = admitted;
  const answer = await reconciled(definition.reconcile!, { callId: invocation.callId, input, context }, log);
  if (answer === "unknown") return MAY_HAVE_RUN;
  if (!answer.done) {
    attempt.isUnsure = false;
    return runHandler(attempt, admitted, signal);
  }
  reportReached(attempt, admitted);
  try {
    return await deliver(attempt, answer.result);
  } catch (error) {
    options.onError?.(error);
    return failed(log, "the result of reconcile cannot be sent", { error });
  }
}

function reportReached(
  { definition, invocation, options }: CallAttempt,
  { given, input }: Pick<Admitted, "given" | "input">,
): void {
  if (!options.onReached) return;
  const edited = given === invocation.arguments ? undefined : given;
  const reached = argumentsReached(definition.manifest, given, input) ?? edited;
  if (reached !== undefined) options.onReached(reached);
}

/** A handler result's outcome: checked against the output schema, without restricted fields, as JSON, and limited in size. */
async function deliver({ definition, invocation, log, options }: CallAttempt, result: unknown): Promise<CallOutcome> {
  const { parseOutput, protection } = definition;
  const parsed = (await parseOutput?.(result)) ?? { ok: true, value: result };
  if (!parsed.ok) {
    const faults = listFaults(parsed.faults);
    options.onError?.(new TypeError(`The result does not match the output schema: ${faults}`));
    return failed(log, "result does not match the output schema", { faults });
  }
  const whole: JsonValue = toJson(parsed.value);
  // A schema without required members accepts such an object, and takes nothing from it.
  const loss = isJsonObject(whole) && Object.keys(whole).length === 0 ? lossOf(result) : undefined;
  if (loss !== undefined) throw new TypeError(`the value ${loss}`);
  const { value, removed } = protection?.redact(whole, invocation.role) ?? { value: whole, removed: [] };
  const sizeBytes = Buffer.byteLength(JSON.stringify(value));
  if (sizeBytes <= LIMITS.resultBytes) return { ok: true, value, ...(removed.length > 0 && { redacted: removed }) };
  return failure(
    "result_too_large",
    `The function ran, but its result has ${sizeBytes} bytes, which exceed the limit of ${LIMITS.resultBytes}.`,
  );
}

function endedEarly({ begun, isUnsure, definition }: CallAttempt, reason: unknown): CallOutcome {
  if (isUnsure) return MAY_HAVE_RUN;
  const doubt = begun && definition.manifest.effect !== "read" ? " It may have taken effect." : "";
  const when = begun ? "before the function finished" : "before the function started";
  return isTimeoutError(reason)
    ? failure("timed_out", `Timed out ${when}.${doubt}`)
    : failure("cancelled", `The call was cancelled ${when}.${doubt}`);
}

/**
 * The arguments that the handler receives, for the call's record. Undefined if they equal the sent ones. `input` is the
 * schema's output. A converted value is recorded as it was sent, because a transform's result may be the owner's data,
 * which the caller must not read. For the same reason a default is recorded only if it equals the one in the JSON
 * Schema.
 */
export function argumentsReached(
  { inputSchema, keepsUnlisted }: FunctionManifest,
  sent: JsonValue,
  input: unknown,
): JsonValue | undefined {
  if (isDeepStrictEqual(sent, input)) return undefined;
  const reached =
    (keepsUnlisted === true ? jsonOf(input) : undefined) ??
    withDefaults(inputSchema, dropUnlisted(inputSchema, sent), ({ path, name, default: stated }) => {
      const made = madeAt(path.reduce(madeAt, input), name);
      return made !== undefined && isSame(stated, made);
    });
  return canonicalJson(reached) === canonicalJson(sent) ? undefined : reached;
}

/** Undefined for a value that JSON cannot hold, as transforms make them. */
function jsonOf(made: unknown): JsonValue | undefined {
  try {
    return toJson(made);
  } catch {
    return undefined;
  }
}

/** The schema's output at one path step. Undefined if it has no such property or item. */
function madeAt(made: unknown, step: string | number): unknown {
  const isKind = typeof step === "number" ? Array.isArray(made) : isJsonObject(made);
  return isKind && Object.hasOwn(made as object, step) ? (made as Record<string | number, unknown>)[step] : undefined;
}

function isSame(value: JsonValue, made: unknown): boolean {
  const json = jsonOf(made);
  return json !== undefined && canonicalJson(json) === canonicalJson(value);
}
