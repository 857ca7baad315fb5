import { z } from "zod";
import { ApprovalRequest, ApprovalStatus } from "./approval.ts";
import { CALL_ERROR_CODES, HTTP_ERROR_CODES, RUN_ERROR_CODES } from "./codes.ts";
import type { JsonValue } from "./json.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);

/** One executed (or refused) function call. */
export const ToolCall = z.object({
  toolName: z.string().describe("Name of the function, as the model wrote it; at most 200 characters are kept."),
  parameters: json.describe(
    "The arguments that the handler received, or of a call without a handler those of the model: a string if they are not JSON.",
  ),
  success: z.boolean().describe("True if the handler returned a result."),
  result: json.optional().describe("What the handler returned, without restricted fields. Only if `success` is true."),
  errorMessage: z
    .string()
    .optional()
    .describe("Why the call failed, as the model reads it. Only if `success` is false."),
  code: z.enum(CALL_ERROR_CODES).optional().describe("Which failure it was. Only if `success` is false."),
});
export type ToolCall = z.infer<typeof ToolCall>;

/** Sums over the model turns of one run. `inputTokens` counts all input, including tokens read from and written to a cache. */
export const Usage = z.object({
  inputTokens: z
    .number()
    .describe("Tokens sent to the model in all turns, including those read from or written to a cache."),
  outputTokens: z.number().describe("Tokens that the model wrote in all turns, including reasoning."),
  cachedInputTokens: z.number().describe("The part of `inputTokens` that the provider read from its cache."),
  cacheWriteInputTokens: z
    .number()
    .default(0)
    .describe("The part of `inputTokens` that the provider wrote to its cache. Absent from earlier versions."),
  costUsd: z.number().describe("Cost in US dollars at the service's prices; 0 for a model without a price."),
});
export type Usage = z.infer<typeof Usage>;

/** Members that the answer and the event `finalResponse` have in common. */
export const answerMembers = {
  response: z
    .string()
    .describe("The answer as Markdown; fenced JSON for a structured answer. Empty for most failures."),
  structured: json.optional().describe("The answer as a value that meets the requested schema."),
  threadId: z.string().describe("The conversation of the query. Send it with the next query to continue."),
  runId: z.string().describe("Identifies the processing of this query, for its events, a cancel and the console."),
  sessionId: z.string().optional().describe("The value that the query had, if any."),
  executionTimeMs: z.number().describe("Milliseconds from the acceptance of the query to its end, including waits."),
  toolInteractions: z
    .array(ToolCall)
    .describe("The function calls of the run, in the order in which the model made them."),
  usage: Usage.describe("Tokens and cost, summed over the model turns."),
  warnings: z
    .array(z.string())
    .optional()
    .describe("What reduced the answer: omitted earlier queries, failed models, services that were left out."),
};

const { response, structured, threadId, runId, sessionId, executionTimeMs, toolInteractions, usage, warnings } =
  answerMembers;

/** Response of the non-streaming endpoint. */
export const QueryResponse = z.object({
  success: z.boolean().describe("True if the model answered. A failed run has status 200 and `false`."),
  response,
  structured,
  threadId,
  executionTimeMs,
  toolInteractions,
  errorMessage: z.string().describe("Why the run has no answer. Empty if `success` is true."),
  code: z.enum(RUN_ERROR_CODES).optional().describe("Which failure ended the run. Only if `success` is false."),
  approvals: z
    .array(ApprovalRequest)
    .optional()
    .describe("The approvals that the run waits for. Only with code `approval_required`."),
  runId,
  sessionId,
  usage,
  warnings,
});
export type QueryResponse = z.infer<typeof QueryResponse>;

/** Body of every 4xx and 5xx response. */
export const ErrorBody = z.object({
  success: z.literal(false).describe("Always false, so that clients can test one member in every response."),
  errorMessage: z.string().describe("What is wrong and, where known, what to do."),
  code: z.enum(HTTP_ERROR_CODES).describe("Which failure it was. Branch on this value, not on the message."),
  requestId: z
    .string()
    .describe("Identifies the request in the service's log; also in the header `X-Request-Id`. Quote it in reports."),
  status: ApprovalStatus.optional().describe("What the approval is instead of pending. Only with `conflict`."),
  details: z
    .array(
      z.object({
        path: z.string().describe("The place in the body, such as `llmConfig.model`."),
        message: z.string().describe("What is wrong at this place."),
      }),
    )
    .optional()
    .describe("Every fault of an invalid request."),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** One fault of a request: its place, and what is wrong there. */
export type Fault = { path: string; message: string };

/** States of a run, in order. The last three are final. */
const RUN_STATUSES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
/** State of a run, in the run endpoints and in the store. */
export const RunStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof RunStatus>;

const cursor = z.string().nullable().describe("Sent as `cursor`, it requests the next page. Null on the last page.");

/** A thread in a list. Times are ISO 8601. `title` is made of the first query that the reader may see. */
export const ThreadSummary = z.object({
  threadId: z.string().describe("Names the conversation in queries and routes."),
  sessionId: z.string().nullable().describe("The value of the query that began the conversation, or null."),
  title: z.string().describe("The beginning of the first query that the key may see."),
  createdAt: z.string().describe("ISO 8601 time of the first query."),
  updatedAt: z.string().describe("ISO 8601 time of the latest change."),
});
export type ThreadSummary = z.infer<typeof ThreadSummary>;

/** One page of an agent's threads, latest change first. `nextCursor` is null on the last page. */
export const ThreadPage = z.object({
  items: z.array(ThreadSummary).describe("The threads of this page, latest change first."),
  nextCursor: cursor,
});
export type ThreadPage = z.infer<typeof ThreadPage>;

/** A thread with one page of its messages, oldest first. `nextCursor` is null on the last page. A run that did not succeed has no assistant message. */
export const ThreadDetail = ThreadSummary.extend({
  messages: z
    .array(
      z.object({
        role: z.enum(["user", "assistant"]).describe("`user` for a query, `assistant` for its answer."),
        content: z.string().describe("The text of the query or of the answer."),
        runId: z.string().describe("Identifies the query that the message belongs to."),
        createdAt: z.string().describe("ISO 8601 time at which it was stored."),
      }),
    )
    .describe("One page, oldest first. A run that did not succeed has no assistant message."),
  nextCursor: cursor,
});
export type ThreadDetail = z.infer<typeof ThreadDetail>;

/**
 * The current state of a run. Times are ISO 8601, null until reached. `result` is absent before the end. `requestId` identifies the
 * request that started the run, and is absent for runs of earlier versions. `usage` sums the turns so far.
 */
export const RunDetail = z.object({
  runId: z.string().describe("Identifies the run, as in the path of the request."),
  threadId: z.string().describe("The conversation that the query belongs to."),
  status: RunStatus.describe("`succeeded`, `failed` and `cancelled` are final."),
  startedAt: z.string().nullable().describe("ISO 8601 time at which a replica began to work on it. Null before."),
  finishedAt: z.string().nullable().describe("ISO 8601 time of the last event. Null before."),
  requestId: z
    .string()
    .optional()
    .describe("Identifies the request that started the run. Absent for runs of earlier versions."),
  usage: Usage.describe("Tokens and cost of the turns so far."),
  result: QueryResponse.optional().describe("The answer, or the failure, after the end."),
});
export type RunDetail = z.infer<typeof RunDetail>;

/** Response to a cancellation: status 200 if the run had ended, 202 while it is being cancelled. */
export const CancelResponse = z.object({
  success: z.literal(true).describe("Always true: the run ended, or will end."),
  runId: z.string().describe("Identifies the run, as in the path of the request."),
  status: RunStatus.describe("The state before the cancel takes effect. A run that had ended keeps its state."),
});
export type CancelResponse = z.infer<typeof CancelResponse>;
