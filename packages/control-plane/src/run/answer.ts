import type { JsonValue, OperatorLimits, QueryResponse, RunEvent, ToolCall, Usage } from "@patchbay/protocol";
import type { CallRecord, RunRecord, TurnRecord } from "../ports/records.ts";
import type { RunFailure } from "./run-failure.ts";
import type { Progress } from "./state.ts";

/** What a run hands back, as the body of endpoint 1 and as the last event of a stream. */
export interface Ending {
  result: QueryResponse;
  event: RunEvent;
}

/** What an answer may hold beyond `runResultBytes`: its text, and the calls themselves. */
const ANSWER_ROOM_BYTES = 524_288;

export function answered(
  state: Progress,
  { text: response, structured }: { text: string; structured?: JsonValue },
  executionTimeMs: number,
  { runResultBytes }: Pick<OperatorLimits, "runResultBytes">,
): Ending {
  const { run } = state;
  const roomBytes = runResultBytes + ANSWER_ROOM_BYTES - bytesOf([response, structured]);
  const result: QueryResponse = {
    success: true,
    response,
    ...(structured !== undefined && { structured }),
    errorMessage: "",
    ...common(run, executionTimeMs, state, roomBytes),
  };
  const { success: _, errorMessage: __, code: ___, ...rest } = result;
  return { result, event: { type: "finalResponse", ...rest } };
}

const FINAL_RESPONSE = '{"type":"finalResponse",';

/**
 * The body of endpoint 1 that a run's `finalResponse` stands for, member for member as it was stored. The text is not parsed: it
 * may have megabytes, and every other run of the process waits meanwhile.
 */
export function answerIn(finalResponse: string): string {
  if (!finalResponse.startsWith(FINAL_RESPONSE)) throw new Error("this event is not a finalResponse");
  return `{"success":true,"errorMessage":"",${finalResponse.slice(FINAL_RESPONSE.length)}`;
}

/** The ending of a run that failed; `known` is absent when the run was refused before it began, or nothing is known of it. */
export function failed(
  run: RunRecord,
  failure: RunFailure,
  executionTimeMs: number,
  known?: { state: Progress; limits: Pick<OperatorLimits, "runResultBytes"> },
): Ending {
  const { code, message, response } = failure;
  const roomBytes = ANSWER_ROOM_BYTES + (known?.limits.runResultBytes ?? 0);
  return {
    result: {
      success: false,
      response,
      errorMessage: message,
      code,
      ...common(run, executionTimeMs, known?.state, roomBytes),
    },
    event: { type: "error", errorMessage: message, code, threadId: run.threadId, runId: run.runId },
  };
}

function common(run: RunRecord, executionTimeMs: number, state: Progress | undefined, roomBytes: number) {
  const warnings = [...(state?.warnings ?? run.request.warnings)];
  const calls = (state?.calls ?? []).toSorted(inOrderAsked);
  const toolInteractions = fitting(calls, roomBytes).map(toolCallOf);
  const leftOut = calls.length - toolInteractions.length + (state?.leftOut ?? 0);
  if (leftOut > 0) warnings.push(`The answer leaves out ${leftOut} calls of the run. Its events list them.`);
  return {
    threadId: run.threadId,
    runId: run.runId,
    ...(run.sessionId !== undefined && { sessionId: run.sessionId }),
    executionTimeMs,
    toolInteractions,
    usage: usageOf(state?.turns ?? []),
    ...(warnings.length > 0 && { warnings }),
  };
}

const inOrderAsked = (a: CallRecord, b: CallRecord): number => a.step - b.step || a.position - b.position;

/** As many calls as fit: results have their own limit, arguments and refused calls have none. */
function fitting(calls: CallRecord[], roomBytes: number): CallRecord[] {
  let left = roomBytes;
  const fitted = calls.findIndex((call) => (left -= shownBytes(call)) < 0);
  return fitted < 0 ? calls : calls.slice(0, fitted);
}

/** Bytes of a call in the answer. The size of its result is known where the result came in. */
function shownBytes(call: CallRecord): number {
  const { outcome, valueBytes } = call;
  if (!outcome?.ok || valueBytes === undefined) return bytesOf(toolCallOf(call));
  return valueBytes + bytesOf(toolCallOf({ ...call, outcome: { ...outcome, value: null } }));
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function toolCallOf(call: CallRecord): ToolCall {
  return { toolName: call.functionName, parameters: parametersOf(call), ...outcomeMembers(call) };
}

/** The arguments as the handler got them, as far as the runtime said so; else as the model wrote them. */
export const parametersOf = ({ arguments: asked, outcome }: CallRecord): JsonValue => outcome?.input ?? asked;

/** The members that tell how a call ended, the same in `toolInteractions` and in `toolResult`. */
export function outcomeMembers(call: CallRecord): Pick<ToolCall, "success" | "result" | "errorMessage" | "code"> {
  const { outcome } = call;
  if (!outcome)
    return { success: false, errorMessage: "The run ended before the function answered.", code: "cancelled" };
  if (outcome.ok) return { success: true, result: outcome.value };
  return { success: false, errorMessage: outcome.message, code: outcome.code };
}

/** What these turns used together. */
export function usageOf(turns: readonly TurnRecord[]): Usage {
  const sum = (pick: (turn: TurnRecord) => number): number => turns.reduce((all, turn) => all + pick(turn), 0);
  return {
    inputTokens: sum((turn) => turn.usage.input),
    outputTokens: sum((turn) => turn.usage.output),
    cachedInputTokens: sum((turn) => turn.usage.cachedInput),
    cacheWriteInputTokens: sum((turn) => turn.usage.cacheWriteInput ?? 0),
    costUsd: sum((turn) => turn.costMicros) / 1_000_000,
  };
}
