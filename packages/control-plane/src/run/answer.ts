import type { QueryResponse, RunEvent, ToolCall, Usage } from "@patchbay/protocol";
import type { CallRecord, RunRecord } from "../ports/records.ts";
import type { RunFailure } from "./run-failure.ts";
import type { Progress } from "./state.ts";

/** What a run hands back, as the body of endpoint 1 and as the last event of a stream. */
export interface Ending {
  result: QueryResponse;
  event: RunEvent;
}

export function answered(state: Progress, response: string, executionTimeMs: number): Ending {
  const { run } = state;
  const result: QueryResponse = {
    success: true,
    response,
    errorMessage: "",
    ...common(run, executionTimeMs, state),
  };
  const { success: _, errorMessage: __, code: ___, ...rest } = result;
  return { result, event: { type: "finalResponse", ...rest } };
}

/** The body of endpoint 1 that a run's `finalResponse` stands for, member for member as it was stored. */
export function answerIn(finalResponse: string): QueryResponse {
  const { type: _, response, ...rest } = JSON.parse(finalResponse) as Extract<RunEvent, { type: "finalResponse" }>;
  return { success: true, response, errorMessage: "", ...rest };
}

/** The ending of a run that failed; `state` is absent when the run was refused before it began, or nothing is known of it. */
export function failed(run: RunRecord, failure: RunFailure, executionTimeMs: number, state?: Progress): Ending {
  const { code, message } = failure;
  return {
    result: {
      success: false,
      response: "",
      errorMessage: message,
      code,
      ...common(run, executionTimeMs, state),
    },
    event: { type: "error", errorMessage: message, code, threadId: run.threadId, runId: run.runId },
  };
}

function common(run: RunRecord, executionTimeMs: number, state: Progress | undefined) {
  const warnings = [...(state?.warnings ?? run.request.warnings)];
  return {
    threadId: run.threadId,
    runId: run.runId,
    ...(run.sessionId !== undefined && { sessionId: run.sessionId }),
    executionTimeMs,
    toolInteractions: (state?.calls ?? []).toSorted(inOrderAsked).map(toolCallOf),
    usage: usageOf(state),
    ...(warnings.length > 0 && { warnings }),
  };
}

const inOrderAsked = (a: CallRecord, b: CallRecord): number => a.step - b.step || a.position - b.position;

function toolCallOf(call: CallRecord): ToolCall {
  return { toolName: call.functionName, parameters: call.arguments, ...outcomeMembers(call) };
}

/** The members that tell how a call ended, the same in `toolInteractions` and in `toolResult`. */
export function outcomeMembers(call: CallRecord): Pick<ToolCall, "success" | "result" | "errorMessage" | "code"> {
  const { outcome } = call;
  if (!outcome)
    return { success: false, errorMessage: "The run ended before the function answered.", code: "cancelled" };
  if (outcome.ok) return { success: true, result: outcome.value };
  return { success: false, errorMessage: outcome.message, code: outcome.code };
}

function usageOf(state: Progress | undefined): Usage {
  const turns = state?.turns ?? [];
  const sum = (pick: (turn: (typeof turns)[number]) => number): number =>
    turns.reduce((all, turn) => all + pick(turn), 0);
  return {
    inputTokens: sum((turn) => turn.usage.input),
    outputTokens: sum((turn) => turn.usage.output),
    cachedInputTokens: sum((turn) => turn.usage.cachedInput),
    costUsd: sum((turn) => turn.costMicros) / 1_000_000,
  };
}
