import { z } from "zod";
import { ApprovalRequest, ApprovalStatus } from "./approval.ts";
import { CALL_ERROR_CODES, HTTP_ERROR_CODES, RUN_ERROR_CODES } from "./codes.ts";
import { fault, flag, json, nullableText, optionalText, optionalTexts, text } from "./members.ts";

/** One executed (or refused) function call. */
export const ToolCall = z.object({
  toolName: text("The function's name, as the model wrote it; at most 200 characters are kept."),
  parameters: json.describe(
    "The arguments that the handler received, or without a handler the model's: a string if they are not JSON.",
  ),
  success: flag("True if the handler returned a result."),
  result: json
    .optional()
    .describe(
      "What the handler returned, without restricted fields. Only if `success` is true, and absent if the service withholds it.",
    ),
  errorMessage: optionalText("Why the call failed, as the model reads it. Only if `success` is false."),
  code: z.enum(CALL_ERROR_CODES).optional().describe("Which failure it was. Only if `success` is false."),
});
export type ToolCall = z.infer<typeof ToolCall>;

/** A detached call that its run waits for. */
export const RunningCall = z.object({
  toolCallId: text("Identifies the call in all the run's events."),
  toolName: text("The function that the model called."),
  startedAt: text("ISO 8601 time at which the handler began."),
  progress: json.optional().describe("What the handler passed last to `progress()`."),
});
export type RunningCall = z.infer<typeof RunningCall>;

/** Sums over one run's model turns. `inputTokens` counts all input, including tokens read from and written to a cache. */
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
  reasoningTokens: z.number().optional().describe("The part of `outputTokens` that was reasoning, if reported."),
  costUsd: z.number().describe("Cost in US dollars at the service's prices; 0 for a model without a price."),
});
export type Usage = z.infer<typeof Usage>;

/** Members that the answer and the event `finalResponse` share. */
export const answerMembers = {
  response: text("The answer as Markdown; fenced JSON for a structured answer. Empty for most failures."),
  structured: json.optional().describe("The answer as a value that meets the requested schema."),
  threadId: text("The query's conversation. Send it with the next query to continue."),
  runId: text("Identifies the run that processes this query, for its events, a cancel and the console."),
  sessionId: optionalText("The value that the query had, if any."),
  executionTimeMs: z.number().describe("Milliseconds from when the query was accepted to its end, including waits."),
  toolInteractions: z.array(ToolCall).describe("The run's function calls, in the order in which the model made them."),
  usage: Usage.describe("Tokens and cost, summed over the model turns."),
  warnings: optionalTexts(
    "What reduced the answer: unknown members of the query, omitted earlier queries, failed models, services that were left out.",
  ),
};

/** The non-streaming endpoint's response. */
export const QueryResponse = z.object({
  success: flag("True if the model answered. A failed run has status 200 and `false`."),
  ...answerMembers,
  errorMessage: text("Why the run has no answer. Empty if `success` is true."),
  code: z.enum(RUN_ERROR_CODES).optional().describe("Which failure ended the run. Only if `success` is false."),
  approvals: z
    .array(ApprovalRequest)
    .optional()
    .describe("The approvals that the run waits for. Only with code `approval_required`."),
  calls: z.array(RunningCall).optional().describe("The detached calls that run. Only while the run waits."),
});
export type QueryResponse = z.infer<typeof QueryResponse>;

/** Run states, in order. The last three are final. */
const RUN_STATUSES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
/** A run's state, in the run endpoints and in the store. */
export const RunStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof RunStatus>;

/** Body for every 4xx and 5xx response. */
export const ErrorBody = z.object({
  success: z.literal(false).describe("Always false, so that clients can test one member in every response."),
  errorMessage: text("What is wrong and, where known, what to do."),
  code: z.enum(HTTP_ERROR_CODES).describe("Which failure it was. Branch on this value, not on the message."),
  requestId: text(
    "Identifies the request in the service's log; also in the header `X-Request-Id`. Quote it in reports.",
  ),
  status: z
    .union([ApprovalStatus, RunStatus])
    .optional()
    .describe("The approval's present state, or the state of a run that cannot be retried. Only with `conflict`."),
  details: z
    .array(fault("The place in the body, such as `llmConfig.model`."))
    .optional()
    .describe("Every fault in an invalid request."),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** One fault in a request: its path, and what is wrong there. */
export type Fault = { path: string; message: string };

const cursor = nullableText("Sent as `cursor`, it requests the next page. Null on the last page.");

/** A thread in a list. Times are ISO 8601. `title` comes from the first query that the reader may see. */
export const ThreadSummary = z.object({
  threadId: text("Names the conversation in queries and routes."),
  sessionId: nullableText("The value from the query that began the conversation, or null."),
  title: text("The beginning of the first query that the key may see."),
  createdAt: text("ISO 8601 time of the first query."),
  updatedAt: text("ISO 8601 time of the latest change."),
});
export type ThreadSummary = z.infer<typeof ThreadSummary>;

/** One page with an agent's threads, latest change first. `nextCursor` is null on the last page. */
export const ThreadPage = z.object({
  items: z.array(ThreadSummary).describe("The threads on this page, latest change first."),
  nextCursor: cursor,
});
export type ThreadPage = z.infer<typeof ThreadPage>;

/**
 * A thread with one page of messages, oldest first. `nextCursor` is null on the last page. A run that did not succeed
 * has no assistant message.
 */
export const ThreadDetail = ThreadSummary.extend({
  messages: z
    .array(
      z.object({
        role: z.enum(["user", "assistant"]).describe("`user` for a query, `assistant` for its answer."),
        content: text("The query or answer text."),
        runId: text("Identifies the query that the message belongs to."),
        createdAt: text("ISO 8601 time at which it was stored."),
      }),
    )
    .describe("One page, oldest first. A run that did not succeed has no assistant message."),
  nextCursor: cursor,
});
export type ThreadDetail = z.infer<typeof ThreadDetail>;

/**
 * A run's current state. Times are ISO 8601, null until reached. `result` is absent before the end. `requestId`
 * identifies the request that started the run, and is absent for runs from earlier versions. `usage` sums the turns so
 * far.
 */
export const RunDetail = z.object({
  runId: text("Identifies the run, as in the request path."),
  threadId: text("The conversation that the query belongs to."),
  status: RunStatus.describe("`succeeded`, `failed` and `cancelled` are final."),
  startedAt: nullableText("ISO 8601 time at which a replica began to work on it. Null before."),
  finishedAt: nullableText("ISO 8601 time of the last event. Null before."),
  requestId: optionalText("Identifies the request that started the run. Absent for runs from earlier versions."),
  waitingFor: z
    .enum(["approval", "function"])
    .optional()
    .describe("What a run with status `waiting` waits for: at least one approval, or only detached functions."),
  calls: z.array(RunningCall).optional().describe("The detached calls that run. Only while the run waits."),
  usage: Usage.describe("Tokens and cost for the turns so far."),
  result: QueryResponse.optional().describe("The answer, or the failure, after the end."),
  retryOf: optionalText("The failed run that this run retries."),
  retriedBy: optionalText("The newest run that was started to retry this run."),
});
export type RunDetail = z.infer<typeof RunDetail>;

/** Response to a retry: status 202. The run that it names has begun, or waits for a slot. */
export const RetryResponse = z.object({
  success: z.literal(true).describe("Always true: the retry is stored."),
  runId: text("Names the new run in the paths to its events and result."),
  threadId: text("The failed run's conversation."),
  retryOf: text("The failed run, as in the request path."),
});
export type RetryResponse = z.infer<typeof RetryResponse>;

/** A run in a list. Times are ISO 8601. */
export const RunEntry = z.object({
  runId: text("Names the run in the paths to its events and result."),
  threadId: text("The conversation that the query belongs to."),
  sessionId: optionalText("The query's value."),
  status: RunStatus.describe("`succeeded`, `failed` and `cancelled` are final."),
  code: z.enum(RUN_ERROR_CODES).optional().describe("Which failure ended the run."),
  endedAfterWrites: flag(
    "True if the run ended without an answer after a writing function's call had taken effect, or may have.",
  ),
  startedAt: nullableText("ISO 8601 time at which a replica began to work on it. Null before."),
  finishedAt: optionalText("ISO 8601 time of the last event."),
});
export type RunEntry = z.infer<typeof RunEntry>;

/** One page with runs, newest first. */
export const RunPage = z.object({
  items: z.array(RunEntry).describe("Up to `limit` runs. A page can be shorter although another one follows."),
  nextCursor: cursor,
});
export type RunPage = z.infer<typeof RunPage>;

/** Response to a cancellation: status 200 if the run had ended, 202 while it is being cancelled. */
export const CancelResponse = z.object({
  success: z.literal(true).describe("Always true: the run ended, or will end."),
  runId: text("Identifies the run, as in the request path."),
  status: RunStatus.describe("The state before the cancel takes effect. A run that had ended keeps its state."),
});
export type CancelResponse = z.infer<typeof CancelResponse>;
