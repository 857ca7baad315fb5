import { type LiveEvent, type LocalEvent, type RunEvent } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { inNames } from "./query-body.ts";

type AnyEvent = RunEvent | LiveEvent;
type OfType<Type extends AnyEvent["type"]> = Extract<AnyEvent, { type: Type }>;
type LocalType = LocalEvent["type"];
type MembersOf<Type extends LocalType> = Extract<LocalEvent, { type: Type }>["data"];

/** The members of each event in the local variant, in its order, with the members that they have the values of. */
type Forms = {
  [Type in AnyEvent["type"]]: {
    [Local in LocalType]: readonly [Local, { readonly [Name in keyof MembersOf<Local>]-?: keyof OfType<Type> }];
  }[LocalType];
};

const CALL = { id: "toolCallId", name: "toolName", arguments: "parameters" } as const;

const FORMS: Forms = {
  thought: ["thinking", { content: "content" }],
  toolCall: ["function_call", CALL],
  toolResult: ["function_result", { ...CALL, success: "success", result: "result", error: "errorMessage" }],
  approvalRequest: [
    "approval_request",
    { approval_id: "approvalId", ...CALL, reason: "reason", by: "by", expires_at: "expiresAt" },
  ],
  approvalDecision: [
    "approval_decision",
    { approval_id: "approvalId", id: "toolCallId", decision: "decision", reason: "reason", arguments: "parameters" },
  ],
  finalResponse: [
    "final_response",
    {
      response: "response",
      structured: "structured",
      thread_id: "threadId",
      run_id: "runId",
      session_id: "sessionId",
      execution_time_ms: "executionTimeMs",
      usage: "usage",
      warnings: "warnings",
    },
  ],
  error: ["error", { message: "errorMessage", code: "code", warnings: "warnings" }],
  responseDelta: ["response_delta", { content: "content" }],
  thoughtDelta: ["thinking_delta", { content: "content" }],
  toolProgress: ["function_progress", { id: "toolCallId", data: "data" }],
  deltaReset: ["delta_reset", {}],
  modelStatus: ["model_status", { state: "state", attempt: "attempt", wait_ms: "waitMs" }],
};

/** An event in the local variant's form: the same values under other names, inside `data`. */
export function toLocalEvent(event: AnyEvent): LocalEvent {
  const [type, members] = FORMS[event.type];
  const values = event as unknown as Record<string, unknown>;
  const data = Object.entries(members).map(([name, member]) => [name, values[member as string]]);
  return { type, data: present(Object.fromEntries(data)) } as LocalEvent;
}

/** The same from JSON to JSON. Equal input gives equal bytes, so that a resumed stream repeats events exactly. */
export function toLocalJson(body: string): string {
  return JSON.stringify(toLocalEvent(JSON.parse(body) as AnyEvent));
}

/** Rethrows an error with the local variant's property names. */
export const inLocalNames = inNames({
  contextJson: "context",
  threadId: "thread_id",
  llmConfig: "llm_config",
  responseSchema: "response_schema",
});
