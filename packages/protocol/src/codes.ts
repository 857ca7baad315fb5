/** Codes in responses with a 4xx or 5xx status. */
export const HTTP_ERROR_CODES = [
  /** The key or token is missing, wrong, revoked or for another purpose. */
  "authentication_failed",
  /** The key belongs to another agent than the one in the path. */
  "agent_mismatch",
  /** The key is pinned to roles, and the query names another one. */
  "role_not_allowed",
  /** The organisation's queries per minute are used up, or a limit on streams or connections is reached. */
  "rate_limited",
  /** The body, a parameter or a header is not valid, or names a thread that does not exist. */
  "invalid_request",
  /** The body is not `application/json`, or it is compressed. */
  "unsupported_media_type",
  /** The body has more than 1 MiB, or 4 MiB for chat clients. */
  "payload_too_large",
  /** The path, the run or the thread does not exist, or the key may not see it. */
  "not_found",
  /** The path exists, but not with this method. */
  "method_not_allowed",
  /**
   * The change does not fit the present state. For a decided approval or a run that cannot be retried, `status` has its
   * state.
   */
  "conflict",
  /** The `Idempotency-Key` was used with another body in the last 24 hours. */
  "idempotency_mismatch",
  /** The query's model has an invalid name, or the agent's queries cannot choose it. */
  "model_not_allowed",
  /** The service is stopping, or cannot reach its store. */
  "unavailable",
  /** The service failed in a way that it does not explain to clients; the log has the reason. */
  "internal",
] as const;

/** Codes for runs that ended without an answer, in a response with status 200 or in an `error` event. */
export const RUN_ERROR_CODES = [
  /** No runtime is connected for the agent, or none that serves its newest function set. */
  "agent_session_not_found",
  /** The organisation's balance is lower than what the next model turn can cost. */
  "insufficient_credits",
  /** The next model turn could exceed the run's cost cap. */
  "budget_exceeded",
  /** The service has no key for the provider. */
  "provider_not_configured",
  /** The provider failed, after its retries and after all fallback models. */
  "provider_error",
  /** The model has no price, which credits and cost caps need. */
  "model_not_allowed",
  /** The model declined to answer. */
  "model_refused",
  /** The model's output was cut by `maxTokens` before anything usable was complete. */
  "output_limit",
  /** The model wrote no value that meets the answer's schema, after two corrections. */
  "output_invalid",
  /** The model still called functions after its last step. */
  "step_limit",
  /** A service hook refused the query or the answer. */
  "refused",
  /** The run reached its time limit. */
  "deadline_exceeded",
  /** A client, a member or a database restore cancelled the run. */
  "cancelled",
  /** Too many queries already wait on the thread. */
  "thread_busy",
  /** The run waits for an approval. It has not ended: no `error` event has this code. */
  "approval_required",
  /** The run waits for a detached function. It has not ended: no `error` event has this code. */
  "call_running",
  /** The process crashed several times while it worked on the run, which is not resumed. */
  "crash_loop",
  /** The run failed in a way that is not explained to clients, or a hook failed; the log has the reason. */
  "internal",
] as const;

/** Codes for one failed function call, in `toolInteractions` and `toolResult`. */
export const CALL_ERROR_CODES = [
  /** The function's `authorize` refused the call, or the context does not match the service's schema. */
  "denied",
  /** The function does not exist, or the role may not call it. */
  "unknown_function",
  /** The arguments do not match the input schema. */
  "invalid_arguments",
  /** The handler threw an error, its result is not valid, or no runtime accepted the call. */
  "function_failed",
  /** The handler took longer than the function's `timeoutMs`, or than the time that the run had left. */
  "timed_out",
  /** The connection was lost during the call, which may have taken effect. */
  "outcome_unknown",
  /** The result exceeds 256 KiB, or the run's results exceed their limit. */
  "result_too_large",
  /** The turn or the run has used up its calls. */
  "call_limit",
  /** The model repeated a call with equal arguments too often. */
  "repeated_call",
  /** A person must approve the call, and has not decided yet. */
  "approval_required",
  /** A person rejected the call. */
  "rejected",
  /** The approval expired before a person decided. The call was not run. */
  "approval_expired",
  /** The function needs the caller's token, which has expired or is not known any more. The call was not run. */
  "caller_token_expired",
  /** The function is detached and has not ended yet. */
  "call_running",
  /** The run ended or gave its answer before the call finished. */
  "cancelled",
] as const;

/** One of {@link HTTP_ERROR_CODES}: an `ErrorBody`'s `code`. */
export type HttpErrorCode = (typeof HTTP_ERROR_CODES)[number];
/** One of {@link RUN_ERROR_CODES}: the `code` in an `error` event and in a `QueryResponse` without success. */
export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];
/** One of {@link CALL_ERROR_CODES}: the `code` in a failed `ToolCall`, `toolResult` or `CallOutcome`. */
export type CallErrorCode = (typeof CALL_ERROR_CODES)[number];

/** Error messages that clients may compare literally. They belong to the HTTP contract. */
export const MESSAGES = {
  /** With `authentication_failed`, status 401. */
  authentication_failed: "Authentication failed",
  /** With `agent_mismatch`, status 403. */
  agent_mismatch: "Agent ID mismatch",
  /** With `role_not_allowed`, status 403. */
  role_not_allowed: "Role not allowed for this key",
  /** With `invalid_request`, status 400, if a query names a missing thread or one hidden from its key. */
  thread_not_found: "Thread not found",
  /** With `agent_session_not_found`, status 200 or an `error` event. */
  agent_session_not_found: "Agent session not found",
  /** With `insufficient_credits`, status 200 or an `error` event. */
  insufficient_credits: "Insufficient credits",
  /** With `deadline_exceeded`, status 200 or an `error` event. */
  deadline_exceeded: "Run timed out",
  /** With `approval_required`, status 200: the run waits for an approval. */
  approval_required: "Waiting for approval",
  /** With `call_running`, status 200: the run waits for a detached function. */
  call_running: "Waiting for a function",
  /** With `cancelled`, status 200 or an `error` event. */
  cancelled: "Run cancelled",
} as const;

/** The Patchbay version, which all packages share. */
export const VERSION = "0.1.0";

/** Frame version. A control plane refuses a runtime with another version. */
export const FRAMES_VERSION = 1;

/** The message for a function that the caller may not call. It is the same if the function does not exist, so that it reveals neither. */
export function unknownFunctionMessage(name: string): string {
  return `Not permitted: there is no function ${JSON.stringify(name.slice(0, 64))} for this role.`;
}

/** WebSocket close codes for the reasons why a control plane closes a runtime's connection. */
export const CLOSE_CODES = {
  /** The runtime sent frames that are not valid. It logs an error and reconnects; update the older side. */
  badFrame: 4400,
  /** The runtime and the control plane use different frame versions. Update the older side. */
  wrongVersion: 4406,
  /** The function set is not valid or exceeds a limit. The close reason names the fault. */
  manifestRefused: 4422,
  /** Another connected service has a function with the same name, or another default role. The runtime retries. */
  serviceConflict: 4423,
  /** The runtime sent no `hello` in time, for example because a proxy delays it. The runtime retries. */
  helloTimeout: 4408,
  /** The same runtime opened a newer connection, which replaces this one. */
  replaced: 4409,
  /** The runtime key was revoked or has expired. Connect with another key. */
  keyRevoked: 4401,
  /** The runtime sent more unrequested frames than `framesPerSecond` for 10 s. It reconnects. */
  tooManyFrames: 4429,
  /** The control plane stops. The runtime reconnects to another replica, or after the restart. */
  goingAway: 1001,
} as const;

/** In an approval's `by`: the run's own role may confirm the call. It is not a role that a decision can name in `as`. */
export const CALLER = "caller";

/** Approval states. All except `pending` are final. */
export const APPROVAL_STATUSES = ["pending", "approved", "rejected", "expired", "cancelled"] as const;
