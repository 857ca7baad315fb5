import {
  type CallOutcome,
  MESSAGES,
  type OperatorLimits,
  type QueryResponse,
  type RunEvent,
  type ToolCall,
  type Usage,
} from "@patchbay/protocol";
import { isoTime, type JsonValue, present } from "@patchbay/kit";
import type { CallRecord, RunRecord, TurnRecord } from "../ports/records.ts";
import { isPending, requestOf } from "./calls/approval.ts";
import { isRunning } from "./calls/detached.ts";
import type { RunFailure } from "./run-failure.ts";
import type { Progress, RunState } from "./state.ts";

/** A run's end: the query endpoint's body, and a stream's last event. */
export interface Ending {
  result: QueryResponse;
  event: RunEvent;
}

/** Warns that an answer is not complete. */
export const CUT_ANSWER = "The answer was cut by maxTokens";
/** Warns that results are missing. A turn stores it once a hook has replaced a text. */
export const WITHHELD =
  "Results are withheld: no hook of their service has allowed the answer, with all texts before it, as it was";

type AnswerLimits = Pick<OperatorLimits, "runResultBytes">;

/** Bytes in an answer besides `runResultBytes`: for its text and its calls' arguments. */
const ANSWER_ROOM_BYTES = 524_288;

export function answered(
  state: Progress & Pick<RunState, "answerHooks">,
  { text: response, structured }: { text: string; structured?: JsonValue },
  executionTimeMs: number,
  { runResultBytes }: AnswerLimits,
): Ending {
  const { run } = state;
  const roomBytes = runResultBytes + ANSWER_ROOM_BYTES - bytesOf([response, structured]);
  const result: QueryResponse = {
    success: true,
    response,
    ...present({ structured }),
    errorMessage: "",
    ...common(run, executionTimeMs, { ...state, passed: state.answerHooks.length > 0 }, roomBytes),
  };
  const { success: _, errorMessage: __, code: ___, ...rest } = result;
  return { result, event: { type: "finalResponse", ...rest } };
}

const FINAL_RESPONSE = '{"type":"finalResponse",';

/**
 * Makes the query endpoint's body from a run's `finalResponse` event without parsing it: the text may have megabytes,
 * and parsing would block the process's other runs.
 */
export function answerIn(finalResponse: string): string {
  if (!finalResponse.startsWith(FINAL_RESPONSE)) throw new Error("this event is not a finalResponse");
  return `{"success":true,"errorMessage":"",${finalResponse.slice(FINAL_RESPONSE.length)}`;
}

/** A failed run's end; `known` is absent when the run did not begin or its state could not be loaded. */
export function failed(
  run: RunRecord,
  failure: RunFailure,
  executionTimeMs: number,
  known?: { state: Progress; limits: AnswerLimits },
): Ending {
  const { code, message, response } = failure;
  const roomBytes = ANSWER_ROOM_BYTES + (known?.limits.runResultBytes ?? 0);
  const rest = common(run, executionTimeMs, known?.state, roomBytes, failure.warnings);
  const { threadId, runId, warnings } = rest;
  return {
    result: { success: false, response, errorMessage: message, code, ...rest },
    event: { type: "error", errorMessage: message, code, threadId, runId, ...present({ warnings }) },
  };
}

function common(
  run: RunRecord,
  executionTimeMs: number,
  state: (Progress & { passed?: boolean }) | undefined,
  roomBytes: number,
  further: readonly string[] = [],
) {
  const warnings = [...(state?.warnings ?? run.request.warnings), ...further];
  const calls = (state?.calls ?? []).toSorted(inAskedOrder);
  const isReleased = state?.passed === true && !warnings.includes(WITHHELD);
  const toolInteractions = fitting(calls, roomBytes).map((call) => toolCallOf(call, isReleased));
  if (!isReleased && !warnings.includes(WITHHELD) && calls.some(isWithheld)) warnings.push(WITHHELD);
  const leftOut = calls.length - toolInteractions.length + (state?.leftOut ?? 0);
  if (leftOut > 0) warnings.push(`The answer leaves out ${leftOut} calls of the run. Its events list them.`);
  return {
    threadId: run.threadId,
    runId: run.runId,
    ...present({ sessionId: run.sessionId }),
    executionTimeMs,
    toolInteractions,
    usage: usageOf(state?.turns ?? []),
    ...(warnings.length > 0 && { warnings }),
  };
}

const inAskedOrder = (a: CallRecord, b: CallRecord): number => a.step - b.step || a.position - b.position;

/** As many calls as fit. Results have a separate limit; arguments and refused calls do not. */
function fitting(calls: CallRecord[], roomBytes: number): CallRecord[] {
  let left = roomBytes;
  const fitted = calls.findIndex((call) => (left -= shownBytes(call)) < 0);
  return fitted < 0 ? calls : calls.slice(0, fitted);
}

/** A call's bytes in the answer, with its result. The process that received its result knows the result's size. */
function shownBytes(call: CallRecord): number {
  const { outcome, valueBytes } = call;
  if (!outcome?.ok || valueBytes === undefined) return bytesOf(toolCallOf(call, true));
  return valueBytes + bytesOf(toolCallOf({ ...call, outcome: { ...outcome, value: null } }, true));
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function toolCallOf(call: CallRecord, isReleased: boolean): ToolCall {
  return { toolName: call.functionName, parameters: parametersOf(call), ...outcomeFields(call, isReleased) };
}

/** The runtime says so with the outcome, which is stored with the call: it holds after a crash and for a retry. */
const isWithheld = ({ outcome }: CallRecord): boolean => outcome?.flow?.withheld === true;

/** The arguments that the handler got, if the runtime sent them; else those that the model wrote. */
export const parametersOf = ({ arguments: asked, outcome }: CallRecord): JsonValue => outcome?.input ?? asked;

/**
 * How a call ended, or that its run ended before it, in the fields that `toolInteractions` and `toolResult` share. The
 * only place that decides whether a withheld result, or the text of a failed handler, is sent.
 */
export function outcomeFields(
  call: CallRecord,
  isReleased = false,
): Pick<ToolCall, "success" | "result" | "errorMessage" | "code"> {
  const { outcome } = call;
  if (!outcome)
    return { success: false, errorMessage: "The run ended before the function answered.", code: "cancelled" };
  const isHidden = !isReleased && isWithheld(call);
  if (outcome.ok) return { success: true, ...(!isHidden && { result: outcome.value }) };
  const { code, message } = outcome;
  return { success: false, errorMessage: isHidden && code === "function_failed" ? FAILED : message, code };
}

const FAILED = "The function failed, and its text is withheld.";
const WAITS: CallOutcome = { ok: false, code: "approval_required", message: MESSAGES.approval_required };
const RUNS: CallOutcome = { ok: false, code: "call_running", message: MESSAGES.call_running };

/** The response while a run waits. An approved call does not run before the last decision. */
export function waitingFor(state: Progress, executionTimeMs: number, { runResultBytes }: AnswerLimits): QueryResponse {
  const calls = state.calls.map((call) => ({ outcome: isRunning(call) ? RUNS : WAITS, ...call }));
  const approvals = state.calls.flatMap((call) => (isPending(call) && call.approval ? [requestOf(call.approval)] : []));
  const code = approvals.length > 0 ? "approval_required" : "call_running";
  return {
    success: false,
    response: "",
    errorMessage: MESSAGES[code],
    code,
    ...(approvals.length > 0 && { approvals }),
    ...runningIn(state.calls),
    ...common(state.run, executionTimeMs, { ...state, calls }, runResultBytes + ANSWER_ROOM_BYTES),
  };
}

/** The detached calls that run, if there are any. */
export function runningIn(calls: readonly CallRecord[]): Pick<QueryResponse, "calls"> {
  const running = calls.filter(isRunning).map(({ callId, functionName, sentAt = 0, progress }) => ({
    toolCallId: callId,
    toolName: functionName,
    startedAt: isoTime(sentAt),
    ...present({ progress }),
  }));
  return running.length > 0 ? { calls: running } : {};
}

/** The total usage in these turns. */
export function usageOf(turns: readonly TurnRecord[]): Usage {
  const sum = (pick: (turn: TurnRecord) => number): number => turns.reduce((all, turn) => all + pick(turn), 0);
  const reasoningTokens = sum((turn) => turn.usage.reasoning ?? 0);
  return {
    inputTokens: sum((turn) => turn.usage.input),
    outputTokens: sum((turn) => turn.usage.output),
    ...(reasoningTokens > 0 && { reasoningTokens }),
    cachedInputTokens: sum((turn) => turn.usage.cachedInput),
    cacheWriteInputTokens: sum((turn) => turn.usage.cacheWriteInput ?? 0),
    costUsd: sum((turn) => turn.costMicros) / 1_000_000,
  };
}
