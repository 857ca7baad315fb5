import { canonicalJson, LIMITS, type CallErrorCode, type CallOutcome, type OperatorLimits } from "@patchbay/protocol";
import type { CallRecord } from "../ports/records.ts";
import type { RunState } from "./state.ts";

type Failure = Extract<CallOutcome, { ok: false }>;

/** Codes of calls that no handler saw. A function that does not exist for the role counts as called: hidden or unknown, it looks the same. */
const UNCOUNTED: ReadonlySet<CallErrorCode> = new Set(["denied", "invalid_arguments", "call_limit", "repeated_call"]);
/** Codes that only the control plane gives. */
const OWN: ReadonlySet<CallErrorCode> = new Set(["call_limit", "repeated_call"]);
/** Rules of failures that only the control plane gives; like any rule they are stored with the outcome. */
export const NOT_RUN = { noRuntime: "no_runtime", notTaken: "not_taken", answered: "answered" } as const;
const NOT_RUN_RULES: ReadonlySet<string | undefined> = new Set(Object.values(NOT_RUN));
const RUN_RESULTS = "run_results";

/** Length to which the message of a failure is cut once the run's result bytes are used up. */
const SHORT_MESSAGE = 200;

/** Counts the calls of a turn, on top of the run's earlier ones. */
export interface CallCounter {
  /** Why the call is beyond a limit; undefined where it is not. */
  refuse(call: CallRecord): CallOutcome | undefined;
  /** Takes the call into account, unless it was refused before its handler. */
  add(call: CallRecord): void;
}

export function createCallCounter(state: RunState, limits: OperatorLimits): CallCounter {
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

  for (const call of state.calls) add(call);
  ofTurn = 0;
  return {
    add,
    refuse(call) {
      if (ofTurn >= callsPerTurn)
        return refused(
          "call_limit",
          `Call ${call.position + 1} of this turn exceeds the limit of ${callsPerTurn} calls in one turn. It was not run. Call the function again in the next turn.`,
        );
      if (ofRun >= callsPerRun)
        return refused(
          "call_limit",
          `The limit of ${callsPerRun} calls in one run is used up. The call was not run. Answer with the results so far.`,
        );
      const reads = state.functions.get(call.functionName)?.effect === "read";
      const most = reads ? repeatedReadCalls : repeatedCalls;
      if ((equalCalls.get(keyOf(call)) ?? 0) < most) return undefined;
      return refused(
        "repeated_call",
        `The function was already called with equal arguments in this run, as often as the limit of ${most} allows. The call was not run. Use the earlier results.`,
      );
    },
  };
}

const keyOf = (call: CallRecord): string => `${call.functionName} ${canonicalJson(call.arguments)}`;

const refused = (code: CallErrorCode, message: string): CallOutcome => ({ ok: false, code, message });

function isCounted({ outcome }: CallRecord): boolean {
  if (!outcome || outcome.ok) return true;
  return !UNCOUNTED.has(outcome.code) && !NOT_RUN_RULES.has(outcome.rule);
}

/** True for what a limit of the run refused: its message was made here and holds no value of the call. */
export const isBeyondLimit = ({ code, rule }: Failure): boolean => OWN.has(code) || rule === RUN_RESULTS;

/** What a runtime answered, as far as the limit of a result and that of the run's results together allow. */
export function limitResult(
  state: RunState,
  outcome: CallOutcome,
  limits: OperatorLimits,
): Pick<CallRecord, "outcome" | "valueBytes"> {
  const believed = withoutLargeInput(outcome.ok ? outcome : believable(outcome));
  const sizeBytes = sizeOf(believed);
  // The runtime refuses such a result too; one that does not is not believed.
  if (sizeBytes > LIMITS.resultBytes)
    return { outcome: refused("result_too_large", `The result is larger than ${LIMITS.resultBytes} bytes.`) };
  state.resultBytes += sizeBytes + bytesNextTo(believed);
  if (state.resultBytes <= limits.runResultBytes)
    return { outcome: believed, ...(believed.ok && { valueBytes: sizeBytes }) };
  // A failure stays what it was: only its text is cut.
  if (!believed.ok)
    return { outcome: { ...withoutInput(believed), message: believed.message.slice(0, SHORT_MESSAGE) } };
  state.resultBytes = Infinity;
  const message = `The function ran, but the results of this run exceed the limit of ${limits.runResultBytes} bytes. The result was not kept. Answer with the results so far.`;
  return { outcome: { ok: false, code: "result_too_large", rule: RUN_RESULTS, message } };
}

/** Without codes and rules that only the control plane gives. */
function believable({ rule, ...outcome }: Failure): Failure {
  const own = NOT_RUN_RULES.has(rule) || rule === RUN_RESULTS;
  const code = OWN.has(outcome.code) ? "function_failed" : outcome.code;
  return { ...outcome, code, ...(rule !== undefined && !own && { rule }) };
}

/** Bytes of results that the run has stored; infinite once a result was beyond the limit, for none is kept from there on. */
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

/** Of what is stored with a result and is not its value. */
const bytesNextTo = (outcome: CallOutcome): number =>
  (outcome.ok && outcome.redacted ? bytesOf(outcome.redacted) : 0) + bytesOf(outcome.input);

const bytesOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

/** The record shows the arguments as the model wrote them where the handler got more than a result may hold. */
const withoutLargeInput = (outcome: CallOutcome): CallOutcome =>
  bytesOf(outcome.input) > LIMITS.resultBytes ? withoutInput(outcome) : outcome;

function withoutInput<T extends CallOutcome>(outcome: T): T {
  const rest = { ...outcome };
  delete rest.input;
  return rest;
}
