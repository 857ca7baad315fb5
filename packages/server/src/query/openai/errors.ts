import type { RunErrorCode } from "@patchbay/protocol";
import type { Log } from "@patchbay/kit";
import type { ServiceErrorCode } from "@patchbay/engine/ports/service-error";
import { publicError, STATUS_OF } from "../../kernel/errors.ts";
import { type Exchange, json } from "../../kernel/exchange.ts";
import { UnknownModel } from "./chat-request.ts";
import type { OpenAiError } from "./wire.ts";

/** A run that ended without an answer that its client can use. */
export class RunEndedError extends Error {
  readonly code: RunErrorCode | "approval_required" | "call_running";

  constructor(code: RunErrorCode | "approval_required" | "call_running", message: string) {
    super(message);
    this.code = code;
  }
}

const QUOTA = 429;
/** HTTP status by run error; all others are 500. */
const RUN_STATUS: Partial<Record<RunEndedError["code"], number>> = {
  provider_error: 502,
  provider_not_configured: 503,
  deadline_exceeded: 504,
  thread_busy: 409,
  approval_required: 409,
  call_running: 409,
  cancelled: 409,
  insufficient_credits: QUOTA,
  budget_exceeded: QUOTA,
};

/** Codes that OpenAI clients compare, in place of the query API's codes. */
const KNOWN_CODES: Partial<Record<ServiceErrorCode, string>> = {
  authentication_failed: "invalid_api_key",
  rate_limited: "rate_limit_exceeded",
};

/** The response to a run without an answer. A client must not repeat a request whose run is stored. */
export function runFailure(exchange: Exchange, ended: RunEndedError): Response {
  exchange.headers["x-should-retry"] = "false";
  return json(exchange, RUN_STATUS[ended.code] ?? 500, runError(ended));
}

/** The response to any other thrown value, also for paths and methods that do not exist. */
export function openAiFailure(exchange: Exchange, thrown: unknown, log: Log): Response {
  const error = publicError(exchange, thrown, log);
  const status = STATUS_OF[error.code];
  const param = error.details?.[0]?.path;
  return json(exchange, status, {
    error: {
      message: error.message,
      type: status >= 500 ? SERVER : error.code === "rate_limited" ? "requests" : "invalid_request_error",
      param: param === undefined || param === "" ? null : param,
      code: error instanceof UnknownModel ? "model_not_found" : (KNOWN_CODES[error.code] ?? error.code),
    },
  } satisfies OpenAiError);
}

const SERVER = "server_error";

export function runError({ code, message }: Pick<RunEndedError, "code" | "message">): OpenAiError {
  const status = RUN_STATUS[code] ?? 500;
  if (status === QUOTA) return errorOf(message, "insufficient_quota", "insufficient_quota");
  return errorOf(message, status < 500 ? "invalid_request_error" : SERVER, code);
}

const errorOf = (message: string, type: string, code: string): OpenAiError => ({
  error: { message, type, param: null, code },
});
