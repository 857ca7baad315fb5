import { type LiveEvent, type LocalEvent, present, type RunEvent } from "@patchbay/protocol";
import { ServiceError } from "../../ports/service-error.ts";

/** An event in the form of the local development variant: the same values under other names, inside `data`. */
export function toLocalEvent(event: RunEvent | LiveEvent): LocalEvent {
  switch (event.type) {
    case "thought":
      return { type: "thinking", data: { content: event.content } };
    case "toolCall":
      return {
        type: "function_call",
        data: { id: event.toolCallId, name: event.toolName, arguments: event.parameters },
      };
    case "toolResult":
      return { type: "function_result", data: functionResult(event) };
    case "approvalRequest": {
      const { approvalId, toolCallId, toolName, parameters, reason, by, expiresAt } = event;
      const members = { approval_id: approvalId, id: toolCallId, name: toolName, arguments: parameters };
      return { type: "approval_request", data: { ...members, ...present({ reason }), by, expires_at: expiresAt } };
    }
    case "approvalDecision": {
      const { approvalId, toolCallId, decision, reason, parameters } = event;
      const members = { approval_id: approvalId, id: toolCallId, decision };
      return { type: "approval_decision", data: { ...members, ...present({ reason, arguments: parameters }) } };
    }
    case "finalResponse":
      return { type: "final_response", data: finalResponse(event) };
    case "error":
      return { type: "error", data: { message: event.errorMessage, code: event.code } };
    case "responseDelta":
      return { type: "response_delta", data: { content: event.content } };
    case "thoughtDelta":
      return { type: "thinking_delta", data: { content: event.content } };
    case "toolProgress":
      return { type: "function_progress", data: { id: event.toolCallId, data: event.data } };
    case "deltaReset":
      return { type: "delta_reset", data: {} };
  }
}

/** The same from JSON to JSON. Equal input gives equal bytes, so that a resumed stream repeats events exactly. */
export function toLocalJson(body: string): string {
  return JSON.stringify(toLocalEvent(JSON.parse(body) as RunEvent | LiveEvent));
}

/** Rethrows an error with the property names of the local variant's body. */
export function inLocalNames(thrown: unknown): never {
  if (!(thrown instanceof ServiceError) || !thrown.details) throw thrown;
  const details = thrown.details.map(({ path, message }) => ({ path: localPath(path), message }));
  throw new ServiceError(thrown.code, localPath(thrown.message), { cause: thrown, details });
}

const LOCAL_NAMES = {
  contextJson: "context",
  threadId: "thread_id",
  llmConfig: "llm_config",
  responseSchema: "response_schema",
};

/** Replaces the path of a QueryRequest at the start of a text by the name in the local variant. */
function localPath(text: string): string {
  return text.replace(
    /^(Invalid request: )?(contextJson|threadId|llmConfig|responseSchema)\b/,
    (_, intro = "", name: keyof typeof LOCAL_NAMES) => `${intro}${LOCAL_NAMES[name]}`,
  );
}

type Of<Type extends LocalEvent["type"]> = Extract<LocalEvent, { type: Type }>["data"];

function functionResult(event: Extract<RunEvent, { type: "toolResult" }>): Of<"function_result"> {
  return {
    id: event.toolCallId,
    name: event.toolName,
    ...(event.parameters !== undefined && { arguments: event.parameters }),
    success: event.success,
    ...(event.result !== undefined && { result: event.result }),
    ...(event.errorMessage !== undefined && { error: event.errorMessage }),
  };
}

function finalResponse(event: Extract<RunEvent, { type: "finalResponse" }>): Of<"final_response"> {
  return {
    response: event.response,
    ...(event.structured !== undefined && { structured: event.structured }),
    thread_id: event.threadId,
    run_id: event.runId,
    ...(event.sessionId !== undefined && { session_id: event.sessionId }),
    execution_time_ms: event.executionTimeMs,
    usage: event.usage,
  };
}
