import { z } from "zod";
import { approvalRequestMembers, ApprovalStatus } from "./approval.ts";
import { CALL_ERROR_CODES, RUN_ERROR_CODES } from "./codes.ts";
import { answerMembers } from "./response.ts";
import { flag, json, optionalText, text } from "./members.ts";

const { response, structured, threadId, runId, sessionId, executionTimeMs, usage, warnings } = answerMembers;

const callId = text("Identifies the call in all the run's events.");
const functionName = text("The function that the model called; at most 200 characters are kept.");
const asWritten = json.describe("The arguments as the model wrote them: a string if they are not JSON.");
const asReceived = json
  .optional()
  .describe(
    "The arguments that the handler received, if they differ from the call's: with defaults, without dropped members.",
  );
const succeeded = flag("True if the handler returned a result.");
const result = json
  .optional()
  .describe(
    "What the handler returned, without restricted fields, if it succeeded. Absent if the service withholds it.",
  );
const reason = text("Why the run has no answer.");
const runCode = z.enum(RUN_ERROR_CODES).describe("Which failure ended the run.");
const { approvalId, expiresAt, by, reason: askedBecause, parameters: asked } = approvalRequestMembers;
const decision = ApprovalStatus.exclude(["pending"]).describe("How the approval ended.");
const decidedBecause = optionalText("Why the person decided so, if a reason was given.");
const edited = json.optional().describe("The arguments to run, if the approver changed them.");
const thought = text("Reasoning, a plan, or text next to function calls.");
const answerDelta = text("The next part of the answer's text.");
const thoughtDelta = text("The next part of a thought.");
const progress = json.describe("What the handler passed to `progress()`: at most 32 KiB as JSON.");
const modelState = z
  .enum(["retrying", "silent"])
  .describe(
    "`retrying`: a request to the model failed and is repeated. `silent`: the model has sent no text and no thought for 10 s.",
  );
const modelAttempt = z.number().describe("The number of this turn's next or open request, from 1.");
const modelWaitMs = z.number().optional().describe("Milliseconds until that request. Only with `retrying`.");

/** Events in a run's log, in the form that the streaming endpoint sends. */
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
    errorMessage: optionalText("Why the call failed, if it did."),
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
  z.object({ type: z.literal("finalResponse"), ...answerMembers }),
  z.object({ type: z.literal("error"), errorMessage: reason, code: runCode, threadId, runId, warnings }),
]);
export type RunEvent = z.infer<typeof RunEvent>;

/** Events sent while they happen, only to clients that asked for deltas, and never stored. */
export const LiveEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("responseDelta"), content: answerDelta }),
  z.object({ type: z.literal("thoughtDelta"), content: thoughtDelta }),
  z.object({ type: z.literal("toolProgress"), toolCallId: callId, data: progress }),
  z
    .object({ type: z.literal("deltaReset") })
    .describe(
      "Orders the client to discard the deltas since the last stored event: their attempt failed, or the answer does not contain them.",
    ),
  z
    .object({ type: z.literal("modelStatus"), state: modelState, attempt: modelAttempt, waitMs: modelWaitMs })
    .describe("Why nothing happens. Clients without deltas get it as a comment line."),
]);
export type LiveEvent = z.infer<typeof LiveEvent>;

/** A `modelStatus` as a sentence for people who wait. */
export function modelStatusText({
  state,
  attempt,
  waitMs = 0,
}: Omit<Extract<LiveEvent, { type: "modelStatus" }>, "type">): string {
  if (state === "silent") return "Waiting for the model";
  const when = waitMs > 0 ? ` in ${Math.ceil(waitMs / 1_000)} s` : "";
  return `The model did not answer. Asking again${when} (attempt ${attempt})`;
}

/** A local event's members, all in `data`. */
const local = <T extends z.ZodRawShape>(members: T) => z.object(members).describe("The event's members.");

/** Events in the local development variant, with their payload in `data`. */
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
      error: optionalText("Why the call failed, if it did."),
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
      warnings,
    }),
  }),
  z.object({ type: z.literal("error"), data: local({ message: reason, code: runCode, warnings }) }),
  z.object({ type: z.literal("response_delta"), data: local({ content: answerDelta }) }),
  z.object({ type: z.literal("thinking_delta"), data: local({ content: thoughtDelta }) }),
  z.object({ type: z.literal("function_progress"), data: local({ id: callId, data: progress }) }),
  z.object({ type: z.literal("delta_reset"), data: local({}) }).describe("As `deltaReset`."),
  z
    .object({
      type: z.literal("model_status"),
      data: local({ state: modelState, attempt: modelAttempt, wait_ms: modelWaitMs }),
    })
    .describe("As `modelStatus`."),
]);
export type LocalEvent = z.infer<typeof LocalEvent>;
