import type { ErrorBody, Fault, HttpErrorCode } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import type { Exchange } from "./deps.ts";

/** The one table from code to status. */
export const STATUS_OF: Record<HttpErrorCode, number> = {
  invalid_request: 400,
  model_not_allowed: 400,
  authentication_failed: 401,
  agent_mismatch: 403,
  role_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

const RETRY_AFTER_SECONDS = "1";

export function json(exchange: Exchange, status: number, body: unknown): Response {
  exchange.headers["Content-Type"] = "application/json";
  return new Response(JSON.stringify(body), { status, headers: exchange.headers });
}

export function text(exchange: Exchange, body: string, contentType: string): Response {
  exchange.headers["Content-Type"] = contentType;
  return new Response(body, { status: 200, headers: exchange.headers });
}

export function noContent(exchange: Exchange): Response {
  return new Response(null, { status: 204, headers: exchange.headers });
}

/** Tells the client which run it is about, so that it can resume or cancel. */
export function nameRun({ headers }: Exchange, run: { runId: string; threadId: string }): void {
  headers["X-Run-Id"] = run.runId;
  headers["X-Thread-Id"] = run.threadId;
}

export function errorBody(
  code: HttpErrorCode,
  errorMessage: string,
  requestId: string,
  details?: readonly Fault[],
): ErrorBody {
  return { success: false, errorMessage, code, requestId, ...(details && { details: [...details] }) };
}

export function failure(exchange: Exchange, error: ServiceError): Response {
  const status = STATUS_OF[error.code];
  if (status === 401) exchange.headers["WWW-Authenticate"] = challengeFor(exchange.c.req.path);
  if (status === 503) exchange.headers["Retry-After"] = RETRY_AFTER_SECONDS;
  return json(exchange, status, errorBody(error.code, error.message, exchange.requestId, error.details));
}

/** The failure a client may see of anything that was thrown; what it may not see goes to the log. */
export function publicError(thrown: unknown, requestId: string, log: Log): ServiceError {
  if (thrown instanceof ServiceError && thrown.code !== "internal") return thrown;
  if (codeOf(thrown) === "unavailable") {
    log.warn("store out of reach", { requestId, error: traceOf(thrown) });
    return new ServiceError("unavailable", "The service cannot reach its store. Try again in a moment.");
  }
  log.error("request failed", { requestId, error: traceOf(thrown) });
  return new ServiceError("internal", "Something went wrong on our side. Quote the requestId when you report it.");
}

export function codeOf(thrown: unknown): HttpErrorCode {
  if (thrown instanceof ServiceError) return thrown.code;
  return thrown instanceof StoreUnavailable ? "unavailable" : "internal";
}

export function traceOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

function challengeFor(path: string): string {
  return path.startsWith("/agents/") ? 'ApiKey realm="patchbay"' : 'Bearer realm="patchbay"';
}
