/** Codes of responses with a 4xx or 5xx status. */
export const HTTP_ERROR_CODES = [
  "authentication_failed",
  "agent_mismatch",
  "role_not_allowed",
  "rate_limited",
  "invalid_request",
  "unsupported_media_type",
  "payload_too_large",
  "not_found",
  "method_not_allowed",
  "idempotency_mismatch",
  "model_not_allowed",
  "unavailable",
  "internal",
] as const;

/** Codes of runs that ended without an answer, in a response with status 200 or in an `error` event. */
export const RUN_ERROR_CODES = [
  "agent_session_not_found",
  "insufficient_credits",
  "budget_exceeded",
  "provider_not_configured",
  "provider_error",
  "model_not_allowed",
  "model_refused",
  "output_limit",
  "output_invalid",
  "step_limit",
  "refused",
  "deadline_exceeded",
  "cancelled",
  "thread_busy",
  "crash_loop",
  "internal",
] as const;

/** Codes of one failed function call, in `toolInteractions` and `toolResult`. */
export const CALL_ERROR_CODES = [
  "denied",
  "unknown_function",
  "invalid_arguments",
  "function_failed",
  "timed_out",
  "outcome_unknown",
  "result_too_large",
  "call_limit",
  "repeated_call",
  "cancelled",
] as const;

/** One of {@link HTTP_ERROR_CODES}: the `code` of an `ErrorBody`. */
export type HttpErrorCode = (typeof HTTP_ERROR_CODES)[number];
/** One of {@link RUN_ERROR_CODES}: the `code` of an `error` event and of a `QueryResponse` without success. */
export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];
/** One of {@link CALL_ERROR_CODES}: the `code` of a failed `ToolCall`, `toolResult` or `CallOutcome`. */
export type CallErrorCode = (typeof CALL_ERROR_CODES)[number];

/** Error messages that clients may compare literally. They are part of the HTTP contract. */
export const MESSAGES = {
  authentication_failed: "Authentication failed",
  agent_mismatch: "Agent ID mismatch",
  role_not_allowed: "Role not allowed for this key",
  thread_not_found: "Thread not found",
  agent_session_not_found: "Agent session not found",
  insufficient_credits: "Insufficient credits",
  deadline_exceeded: "Run timed out",
  cancelled: "Run cancelled",
} as const;

/** The message for a function that the caller may not call. It is the same if the function does not exist, so that it reveals neither. */
export function unknownFunctionMessage(name: string): string {
  return `Not permitted: there is no function ${JSON.stringify(name.slice(0, 64))} for this role.`;
}
