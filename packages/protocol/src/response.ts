import { z } from "zod";
import { CALL_ERROR_CODES, HTTP_ERROR_CODES, RUN_ERROR_CODES } from "./codes.ts";
import type { JsonValue } from "./json.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);

/** One executed (or refused) function call. */
export const ToolCall = z.object({
  toolName: z.string(),
  parameters: json,
  success: z.boolean(),
  result: json.optional(),
  errorMessage: z.string().optional(),
  code: z.enum(CALL_ERROR_CODES).optional(),
});
export type ToolCall = z.infer<typeof ToolCall>;

/** Sums over the model turns of one run. `inputTokens` counts all input, including tokens read from and written to a cache. */
export const Usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  /** The part of `inputTokens` that the provider read from its cache. */
  cachedInputTokens: z.number(),
  /** The part of `inputTokens` that the provider wrote to its cache. Absent from answers of earlier versions. */
  cacheWriteInputTokens: z.number().default(0),
  costUsd: z.number(),
});
export type Usage = z.infer<typeof Usage>;

/** Response of the non-streaming endpoint. */
export const QueryResponse = z.object({
  success: z.boolean(),
  response: z.string(),
  /** The answer as a value that meets the requested schema. */
  structured: json.optional(),
  threadId: z.string(),
  executionTimeMs: z.number(),
  toolInteractions: z.array(ToolCall),
  errorMessage: z.string(),
  code: z.enum(RUN_ERROR_CODES).optional(),
  runId: z.string(),
  sessionId: z.string().optional(),
  usage: Usage,
  warnings: z.array(z.string()).optional(),
});
export type QueryResponse = z.infer<typeof QueryResponse>;

/** Body of every 4xx and 5xx response. */
export const ErrorBody = z.object({
  success: z.literal(false),
  errorMessage: z.string(),
  code: z.enum(HTTP_ERROR_CODES),
  requestId: z.string(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** One fault of a request: its place, and what is wrong there. */
export type Fault = { path: string; message: string };

/** States of a run, in order. The last three are final. */
const RUN_STATUSES = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
/** State of a run, in the run endpoints and in the store. */
export const RunStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof RunStatus>;

/** A thread in a list. Times are ISO 8601. `title` is made of the first query that the reader may see. */
export const ThreadSummary = z.object({
  threadId: z.string(),
  sessionId: z.string().nullable(),
  title: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type ThreadSummary = z.infer<typeof ThreadSummary>;

/** One page of an agent's threads, latest change first. `nextCursor` is null on the last page. */
export const ThreadPage = z.object({ items: z.array(ThreadSummary), nextCursor: z.string().nullable() });
export type ThreadPage = z.infer<typeof ThreadPage>;

/** A thread with one page of its messages, oldest first. `nextCursor` is null on the last page. A run that did not succeed has no assistant message. */
export const ThreadDetail = ThreadSummary.extend({
  messages: z.array(
    z.object({ role: z.enum(["user", "assistant"]), content: z.string(), runId: z.string(), createdAt: z.string() }),
  ),
  nextCursor: z.string().nullable(),
});
export type ThreadDetail = z.infer<typeof ThreadDetail>;

/**
 * The current state of a run. Times are ISO 8601, null until reached. `result` is absent before the end. `requestId` identifies the
 * request that started the run, and is absent for runs of earlier versions. `usage` sums the turns so far.
 */
export const RunDetail = z.object({
  runId: z.string(),
  threadId: z.string(),
  status: RunStatus,
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  requestId: z.string().optional(),
  usage: Usage,
  result: QueryResponse.optional(),
});
export type RunDetail = z.infer<typeof RunDetail>;

/** Response to a cancellation: status 200 if the run had ended, 202 while it is being cancelled. */
export const CancelResponse = z.object({ success: z.literal(true), runId: z.string(), status: RunStatus });
export type CancelResponse = z.infer<typeof CancelResponse>;

/** Events of a run's log, in the form that the streaming endpoint sends them. */
export const RunEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thought"), content: z.string() }),
  z.object({ type: z.literal("toolCall"), toolName: z.string(), toolCallId: z.string(), parameters: json }),
  z.object({
    type: z.literal("toolResult"),
    toolName: z.string(),
    toolCallId: z.string(),
    /** The arguments that the handler received, if they differ from those of the `toolCall`. */
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

/** Events that are sent while they happen, only to clients that asked for deltas, and never stored. */
export const LiveEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("responseDelta"), content: z.string() }),
  z.object({ type: z.literal("thoughtDelta"), content: z.string() }),
  z.object({ type: z.literal("toolProgress"), toolCallId: z.string(), data: json }),
  /** Orders the client to discard the deltas since the last stored event: their attempt failed, or the answer does not contain them. */
  z.object({ type: z.literal("deltaReset") }),
]);
export type LiveEvent = z.infer<typeof LiveEvent>;

/** Events of the local development variant, with their payload in `data`. */
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
