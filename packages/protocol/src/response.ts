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

/** Sums over the model turns of one run. `inputTokens` counts all input, also what is read from and written to a cache. */
export const Usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  /** The part of `inputTokens` that the provider read from its cache. */
  cachedInputTokens: z.number(),
  /** The part of `inputTokens` that the provider wrote to its cache. Answers of earlier versions do not have it. */
  cacheWriteInputTokens: z.number().default(0),
  costUsd: z.number(),
});
export type Usage = z.infer<typeof Usage>;

/** Answer of the non-streaming endpoint. The first six members are always there. */
export const QueryResponse = z.object({
  success: z.boolean(),
  response: z.string(),
  /** The answer as a value that meets the schema asked for. */
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

/** Body of every 4xx and 5xx answer. */
export const ErrorBody = z.object({
  success: z.literal(false),
  errorMessage: z.string(),
  code: z.enum(HTTP_ERROR_CODES),
  requestId: z.string(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** One fault of a request: where, and what is wrong there. */
export type Fault = { path: string; message: string };

/** States of a run in the order it passes them; the last three are ends. */
export const RUN_STATUSES = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
/** State of a run as the run endpoints and the store tell it. */
export const RunStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof RunStatus>;

/** A thread in a list. Times are ISO 8601; `title` comes from the first query that the reader may see. */
export const ThreadSummary = z.object({
  threadId: z.string(),
  sessionId: z.string().nullable(),
  title: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type ThreadSummary = z.infer<typeof ThreadSummary>;

/** One page of an agent's threads, latest change first; `nextCursor` is null on the last. */
export const ThreadPage = z.object({ items: z.array(ThreadSummary), nextCursor: z.string().nullable() });
export type ThreadPage = z.infer<typeof ThreadPage>;

/** A thread with one page of its messages, oldest first; `nextCursor` is null on the last. A run that did not succeed has no assistant message. */
export const ThreadDetail = ThreadSummary.extend({
  messages: z.array(
    z.object({ role: z.enum(["user", "assistant"]), content: z.string(), runId: z.string(), createdAt: z.string() }),
  ),
  nextCursor: z.string().nullable(),
});
export type ThreadDetail = z.infer<typeof ThreadDetail>;

/**
 * A run at this moment. Times are ISO 8601, null until reached; `result` is absent before the end. `requestId` is that of the
 * request that began the run; it is absent for runs of versions that did not keep it. `usage` sums the turns so far.
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

/** Answer to a cancellation: 200 when the run had ended, 202 while it is being cancelled. */
export const CancelResponse = z.object({ success: z.literal(true), runId: z.string(), status: RunStatus });
export type CancelResponse = z.infer<typeof CancelResponse>;
