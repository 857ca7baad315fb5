import { type Log, present } from "@patchbay/kit";
import type { ConsoleProblem } from "@patchbay/protocol/console";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { ServiceError, type ServiceErrorCode } from "@patchbay/engine/ports/service-error";
import { type Exchange, json } from "./exchange.ts";

/** The HTTP status for each code. */
export const STATUS_OF: Record<ServiceErrorCode, number> = {
  invalid_request: 400,
  model_not_allowed: 400,
  authentication_failed: 401,
  agent_mismatch: 403,
  confirmation_required: 403,
  console_role_required: 403,
  csrf_refused: 403,
  role_not_allowed: 403,
  scope_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

const RETRY_AFTER_SECONDS = "1";

export function errorBody(
  code: ServiceErrorCode,
  errorMessage: string,
  requestId: string,
  { details, status }: Partial<Pick<ServiceError, "details" | "status">> = {},
): ConsoleProblem {
  return { success: false, errorMessage, code, requestId, ...present({ status, details: details && [...details] }) };
}

/** The response to any thrown value. The client reads what `publicError` allows. */
export function failure(exchange: Exchange, thrown: unknown, log: Log): Response {
  const error = publicError(exchange, thrown, log);
  const { code, message } = error;
  return json(exchange, STATUS_OF[code], errorBody(code, message, exchange.requestId, error));
}

/**
 * Logs internal errors, whose messages may contain other people's data, and returns a public one in their place. Adds
 * the error's headers.
 */
export function publicError({ requestId, headers }: Exchange, thrown: unknown, log: Log): ServiceError {
  if (codeOf(thrown) === "unavailable") headers["Retry-After"] ??= RETRY_AFTER_SECONDS;
  if (thrown instanceof ServiceError && thrown.code !== "internal") return thrown;
  if (codeOf(thrown) === "unavailable") {
    log.warn("store unavailable", { requestId, error: traceOf(thrown) });
    return new ServiceError("unavailable", "The service cannot reach its store. Try again in a moment.");
  }
  log.error("request failed", { requestId, error: traceOf(thrown) });
  return new ServiceError("internal", "Something went wrong on our side. Quote the requestId when you report it.");
}

export function codeOf(thrown: unknown): ServiceErrorCode {
  if (thrown instanceof ServiceError) return thrown.code;
  return thrown instanceof StoreUnavailable ? "unavailable" : "internal";
}

export function traceOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
