import { z } from "zod";
import { approvalRequestMembers, ApprovalStatus } from "./approval.ts";
import { CALL_ERROR_CODES, RUN_ERROR_CODES } from "./codes.ts";
import type { JsonValue } from "./json.ts";
import { answerMembers } from "./response.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);

const { response, structured, threadId, runId, sessionId, executionTimeMs, toolInteractions, usage, warnings } =
  answerMembers;

const callId = z.string().describe("Identifies the call in all events of the run.");
const functionName = z.string().describe("The function that the model called; at most 200 characters are kept.");
const asWritten = json.describe("The arguments as the model wrote them: a string if they are not JSON.");
const asReceived = json
  .optional()
  .describe(
    "The arguments that the handler received, if they differ from those of the call: with defaults, without dropped members.",
  );
const succeeded = z.boolean().describe("True if the handler returned a result.");
const result = json.optional().describe("What the handler returned, without restricted fields, if it succeeded.");
const reason = z.string().describe("Why the run has no answer.");
const runCode = z.enum(RUN_ERROR_CODES).describe("Which failure ended the run.");
const { approvalId, expiresAt, by, reason: askedBecause, parameters: asked } = approvalRequestMembers;
const decision = ApprovalStatus.exclude(["pending"]).describe("How the approval ended.");
const decidedBecause = z.string().optional().describe("Why the person decided so, if a reason was given.");
const edited = json.optional().describe("The arguments to run, if the approver changed them.");
const thought = z.string().describe("Reasoning, a plan, or text next to function calls.");
const answerDelta = z.string().describe("The next part of the answer's text.");
const thoughtDelta = z.string().describe("The next part of a thought.");
const progress = json.describe("What the handler gave to `progress()`: at most 32 KiB of JSON.");

/** Events of a run's log, in the form that the streaming endpoint sends them. */
export const RunEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thought"), content: thought }),
  z.object({ type: z.literal("toolCall"), toolName: functionName, toolCallId: callId, parameters: asWritten }),
  z.object({
    type: z.literal("toolResult"),
    toolName: functionName,
    toolCallId: callId,
    parameters: asReceived,
    success: succeeded,
    result,
    errorMessage: z.string().optional().describe("Why the call failed, if it did."),
    code: z.enum(CALL_ERROR_CODES).optional().describe("Which failure it was, if the call failed."),
  }),
  z
    .object({
      type: z.literal("approvalRequest"),
      approvalId,
      toolCallId: callId,
      toolName: functionName,
      parameters: asked,
      reason: askedBecause,
      by,
      expiresAt,
    })
    .describe("The run waits until a person decides on this call. Its `toolResult` follows the decision."),
  z.object({
    type: z.literal("approvalDecision"),
    approvalId,
    toolCallId: callId,
    decision,
    reason: decidedBecause,
    parameters: edited,
  }),
  z.object({
    type: z.literal("finalResponse"),
    response,
    structured,
    threadId,
    runId,
    sessionId,
    executionTimeMs,
    toolInteractions,
    usage,
    warnings,
  }),
  z.object({ type: z.literal("error"), errorMessage: reason, code: runCode, threadId, runId }),
]);
export type RunEvent = z.infer<typeof RunEvent>;

/** Events that are sent while they happen, only to clients that asked for deltas, and never stored. */
export const LiveEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("responseDelta"), content: answerDelta }),
  z.object({ type: z.literal("thoughtDelta"), content: thoughtDelta }),
  z.object({ type: z.literal("toolProgress"), toolCallId: callId, data: progress }),
  z
    .object({ type: z.literal("deltaReset") })
    .describe(
      "Orders the client to discard the deltas since the last stored event: their attempt failed, or the answer does not contain them.",
    ),
]);
export type LiveEvent = z.infer<typeof LiveEvent>;

/** The members of a local event, which has them all in `data`. */
const local = <T extends z.ZodRawShape>(members: T) => z.object(members).describe("The members of the event.");

/** Events of the local development variant, with their payload in `data`. */
export const LocalEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thinking"), data: local({ content: thought }) }),
  z.object({
    type: z.literal("function_call"),
    data: local({ id: callId, name: functionName, arguments: asWritten }),
  }),
  z.object({
    type: z.literal("function_result"),
    data: local({
      id: callId,
      name: functionName,
      arguments: asReceived,
      success: succeeded,
      result,
      error: z.string().optional().describe("Why the call failed, if it did."),
    }),
  }),
  z
    .object({
      type: z.literal("approval_request"),
      data: local({
        approval_id: approvalId,
        id: callId,
        name: functionName,
        arguments: asked,
        reason: askedBecause,
        by,
        expires_at: expiresAt,
      }),
    })
    .describe("As `approvalRequest`."),
  z
    .object({
      type: z.literal("approval_decision"),
      data: local({ approval_id: approvalId, id: callId, decision, reason: decidedBecause, arguments: edited }),
    })
    .describe("As `approvalDecision`."),
  z.object({
    type: z.literal("final_response"),
    data: local({
      response,
      structured,
      thread_id: threadId,
      run_id: runId,
      session_id: sessionId,
      execution_time_ms: executionTimeMs,
      usage,
    }),
  }),
  z.object({ type: z.literal("error"), data: local({ message: reason, code: runCode }) }),
  z.object({ type: z.literal("response_delta"), data: local({ content: answerDelta }) }),
  z.object({ type: z.literal("thinking_delta"), data: local({ content: thoughtDelta }) }),
  z.object({ type: z.literal("function_progress"), data: local({ id: callId, data: progress }) }),
  z.object({ type: z.literal("delta_reset"), data: local({}) }).describe("As `deltaReset`."),
]);
export type LocalEvent = z.infer<typeof LocalEvent>;
