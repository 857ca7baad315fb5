import {
  type CallErrorCode,
  type CallOutcome,
  type FunctionManifest,
  LIMITS,
  type OperatorLimits,
} from "@patchbay/protocol";
import { canonicalJson } from "@patchbay/kit";
import type { CallRecord } from "../../ports/records.ts";
import { callFailure, type CallFailure } from "../../ports/refusal.ts";

/**
 * Codes for calls that did not reach a handler, which do not count. `unknown_function` counts, for hidden and for
 * unknown names: a difference between the two would reveal which names exist.
 */
const UNCOUNTED: ReadonlySet<CallErrorCode> = new Set([
  "denied",
  "invalid_arguments",
  "call_limit",
  "repeated_call",
  "rejected",
  "approval_expired",
  "caller_token_expired",
]);
/** Codes for calls beyond the run's limits. */
const BEYOND: ReadonlySet<CallErrorCode> = new Set(["call_limit", "repeated_call"]);
/** Codes that only the control plane may use. */
const OWN: ReadonlySet<CallErrorCode> = new Set([
  ...BEYOND,
  "approval_required",
  "rejected",
  "approval_expired",
  "call_running",
]);
/** Failure rules that only the control plane may use. They are stored with the outcome. */
export const NOT_RUN = {
  noRuntime: "no_runtime",
  notTaken: "not_taken",
  answered: "answered",
  changed: "changed",
} as const;

export const notRun = (why: string, rule: string): CallFailure =>
  callFailure("function_failed", `The function was not run: ${why}`, rule);

const NOT_RUN_RULES: ReadonlySet<string | undefined> = new Set(Object.values(NOT_RUN));
const RUN_RESULTS = "run_results";

/** The length limit for failure messages once the run's result bytes are used up. */
const SHORT_MESSAGE = 200;

/** Counts the run's calls so far, and then those in one more turn. */
export function createCallCounter(
  { calls, functions }: { calls: readonly CallRecord[]; functions: ReadonlyMap<string, FunctionManifest> },
  limits: OperatorLimits,
) {
  const { callsPerTurn, callsPerRun, repeatedCalls, repeatedReadCalls } = limits;
  const equalCalls = new Map<string, number>();
  let ofRun = 0;
  let ofTurn = 0;

  function add(call: CallRecord): void {
    if (!isCounted(call)) return;
    ofRun++;
    ofTurn++;
    equalCalls.set(keyOf(call), (equalCalls.get(keyOf(call)) ?? 0) + 1);
  }

  for (const call of calls) add(call);
  ofTurn = 0;
  return {
    /** Counts the call, unless it was refused before its handler. */
    add,
    /** The outcome for a call that exceeds a limit; undefined when it does not. */
    refuse(call: CallRecord): CallOutcome | undefined {
      if (ofTurn >= callsPerTurn)
        return callFailure(
          "call_limit",
          `Call ${call.position + 1} of this turn exceeds the limit of ${callsPerTurn} calls in one turn. It was not run. Call the function again in the next turn.`,
        );
      if (ofRun >= callsPerRun)
        return callFailure(
          "call_limit",
          `The limit of ${callsPerRun} calls in one run is used up. The call was not run. Answer with the results so far.`,
        );
      const reads = functions.get(call.functionName)?.effect === "read";
      const most = reads ? repeatedReadCalls : repeatedCalls;
      if ((equalCalls.get(keyOf(call)) ?? 0) < most) return undefined;
      return callFailure(
        "repeated_call",
        `The function was already called with equal arguments in this run, as often as the limit of ${most} allows. The call was not run. Use the earlier results.`,
      );
    },
  };
}

const keyOf = (call: CallRecord): string => `${call.functionName} ${canonicalJson(call.arguments)}`;

function isCounted({ outcome }: CallRecord): boolean {
  if (!outcome || outcome.ok) return true;
  return !UNCOUNTED.has(outcome.code) && !NOT_RUN_RULES.has(outcome.rule);
}

/**
 * True for a failure by a run limit. The control plane wrote its message, without values from the call, so that it may
 * be audited.
 */
export const isBeyondLimit = ({ code, rule }: CallFailure): boolean => BEYOND.has(code) || rule === RUN_RESULTS;

/** A runtime's outcome, within the limits for one result and for all results in the run. */
export function limitResult(
  state: { resultBytes: number },
  outcome: CallOutcome,
  limits: OperatorLimits,
): Pick<CallRecord, "outcome" | "valueBytes"> {
  const accepted = withoutLargeInput(outcome.ok ? outcome : withoutOwnCodes(outcome));
  const sizeBytes = sizeOf(accepted);
  // The runtime has this limit too. Check again, because it may be modified.
  if (sizeBytes > LIMITS.resultBytes)
    return { outcome: callFailure("result_too_large", `The result is larger than ${LIMITS.resultBytes} bytes.`) };
  state.resultBytes += sizeBytes + bytesNextTo(accepted);
  if (state.resultBytes <= limits.runResultBytes)
    return { outcome: accepted, ...(accepted.ok && { valueBytes: sizeBytes }) };
  // A failure keeps its code; only its message is cut.
  if (!accepted.ok)
    return { outcome: { ...withoutInput(accepted), message: accepted.message.slice(0, SHORT_MESSAGE) } };
  state.resultBytes = Infinity;
  const message = `The function ran, but the results of this run exceed the limit of ${limits.runResultBytes} bytes. The result was not kept. Answer with the results so far.`;
  return { outcome: callFailure("result_too_large", message, RUN_RESULTS) };
}

/** Removes codes and rules that only the control plane may use: with them a runtime could get its calls left uncounted. */
function withoutOwnCodes({ rule, ...outcome }: CallFailure): CallFailure {
  const own = NOT_RUN_RULES.has(rule) || rule === RUN_RESULTS;
  const code = OWN.has(outcome.code) ? "function_failed" : outcome.code;
  return { ...outcome, code, ...(rule !== undefined && !own && { rule }) };
}

/**
 * Result bytes that the run has stored; Infinity after a result exceeded the limit, because no later result is kept.
 */
export function storedResultBytes(calls: readonly CallRecord[]): number {
  let bytes = 0;
  for (const { outcome } of calls) {
    if (!outcome) continue;
    if (!outcome.ok && outcome.rule === RUN_RESULTS) return Infinity;
    bytes += sizeOf(outcome) + bytesNextTo(outcome);
  }
  return bytes;
}

const sizeOf = (outcome: CallOutcome): number =>
  Buffer.byteLength(outcome.ok ? JSON.stringify(outcome.value) : outcome.message + (outcome.rule ?? ""));

/** Bytes stored with a result in addition to its value. */
const bytesNextTo = (outcome: CallOutcome): number =>
  (outcome.ok && outcome.redacted ? bytesOf(outcome.redacted) : 0) + bytesOf(outcome.input);

const bytesOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

/**
 * Removes an input that is larger than a result may be; the record then shows the arguments as the model wrote them.
 */
const withoutLargeInput = (outcome: CallOutcome): CallOutcome =>
  bytesOf(outcome.input) > LIMITS.resultBytes ? withoutInput(outcome) : outcome;

function withoutInput<T extends CallOutcome>(outcome: T): T {
  const rest = { ...outcome };
  delete rest.input;
  return rest;
}
