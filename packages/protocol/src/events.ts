import { z } from "zod";
import { CALL_ERROR_CODES, RUN_ERROR_CODES } from "./codes.ts";
import type { JsonValue } from "./json.ts";
import { ToolCall, Usage } from "./response.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);

/** Events that are kept in a run's log, in the form that endpoint 2 sends them. */
export const RunEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thought"), content: z.string() }),
  z.object({ type: z.literal("toolCall"), toolName: z.string(), toolCallId: z.string(), parameters: json }),
  z.object({
    type: z.literal("toolResult"),
    toolName: z.string(),
    toolCallId: z.string(),
    /** The arguments as the handler got them, where they are not those of the `toolCall`. */
    parameters: json.optional(),
    success: z.boolean(),
    result: json.optional(),
    errorMessage: z.string().optional(),
    code: z.enum(CALL_ERROR_CODES).optional(),
  }),
  z.object({
    type: z.literal("finalResponse"),
    response: z.string(),
    structured: json.optional(),
    threadId: z.string(),
    runId: z.string(),
    sessionId: z.string().optional(),
    executionTimeMs: z.number(),
    toolInteractions: z.array(ToolCall),
    usage: Usage,
    warnings: z.array(z.string()).optional(),
  }),
  z.object({
    type: z.literal("error"),
    errorMessage: z.string(),
    code: z.enum(RUN_ERROR_CODES),
    threadId: z.string(),
    runId: z.string(),
  }),
]);
export type RunEvent = z.infer<typeof RunEvent>;

/** Events that are shown while they happen and never stored; sent only where the client asked for deltas. */
export const LiveEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("responseDelta"), content: z.string() }),
  z.object({ type: z.literal("thoughtDelta"), content: z.string() }),
  z.object({ type: z.literal("toolProgress"), toolCallId: z.string(), data: json }),
  /** Discard the deltas since the last stored event: their attempt failed, or their text is no part of the answer. */
  z.object({ type: z.literal("deltaReset") }),
]);
export type LiveEvent = z.infer<typeof LiveEvent>;

/** True for the events that end a run's log. */
export function isTerminal(event: { type: string }): boolean {
  return event.type === "finalResponse" || event.type === "error";
}

/** Events of the local development variant: the same facts, payload inside `data`. */
export const LocalEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thinking"), data: z.object({ content: z.string() }) }),
  z.object({ type: z.literal("function_call"), data: z.object({ id: z.string(), name: z.string(), arguments: json }) }),
  z.object({
    type: z.literal("function_result"),
    data: z.object({
      id: z.string(),
      name: z.string(),
      arguments: json.optional(),
      success: z.boolean(),
      result: json.optional(),
      error: z.string().optional(),
    }),
  }),
  z.object({
    type: z.literal("final_response"),
    data: z.object({
      response: z.string(),
      structured: json.optional(),
      thread_id: z.string(),
      run_id: z.string(),
      session_id: z.string().optional(),
      execution_time_ms: z.number(),
      usage: Usage,
    }),
  }),
  z.object({ type: z.literal("error"), data: z.object({ message: z.string(), code: z.enum(RUN_ERROR_CODES) }) }),
  z.object({ type: z.literal("response_delta"), data: z.object({ content: z.string() }) }),
  z.object({ type: z.literal("thinking_delta"), data: z.object({ content: z.string() }) }),
  z.object({ type: z.literal("function_progress"), data: z.object({ id: z.string(), data: json }) }),
  z.object({ type: z.literal("delta_reset"), data: z.object({}) }),
]);
export type LocalEvent = z.infer<typeof LocalEvent>;
