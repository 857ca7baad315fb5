import type { Fault } from "@patchbay/protocol";
import type { CONSOLE_ERROR_CODES, ConsoleProblem } from "@patchbay/protocol/console";
import { AdminError } from "../accounts/admin-error.ts";
import type { Exchange } from "../http/deps.ts";
import { json, publicError, STATUS_OF } from "../http/reply.ts";
import type { Log } from "../ports/log.ts";
import { ServiceError } from "../ports/service-error.ts";

type ConsoleErrorCode = (typeof CONSOLE_ERROR_CODES)[number];

/** A failure of the console's interface that the service itself does not know; `message` is public. */
export class ConsoleError extends Error {
  override readonly name = "ConsoleError";
  readonly code: ConsoleErrorCode;

  constructor(code: ConsoleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const STATUS_OF_CONSOLE: Record<ConsoleErrorCode, number> = {
  csrf_refused: 403,
  confirmation_required: 403,
  console_role_required: 403,
  conflict: 409,
};

/** Answers with what a client may see of anything that was thrown. */
export function problem(exchange: Exchange, thrown: unknown, log: Log): Response {
  const { requestId } = exchange;
  if (thrown instanceof ConsoleError)
    return json(exchange, STATUS_OF_CONSOLE[thrown.code], bodyOf(thrown.code, thrown.message, requestId));
  if (thrown instanceof AdminError && thrown.reason === "conflict")
    return problem(exchange, new ConsoleError("conflict", thrown.message), log);
  const known = thrown instanceof AdminError ? ofAdmin(thrown) : thrown;
  const { code, message, details } = publicError(known, requestId, log);
  if (code === "unavailable") exchange.headers["Retry-After"] ??= "1";
  return json(exchange, STATUS_OF[code], bodyOf(code, message, requestId, details));
}

function bodyOf(
  code: ConsoleProblem["code"],
  errorMessage: string,
  requestId: string,
  details?: readonly Fault[],
): ConsoleProblem {
  return { success: false, errorMessage, code, requestId, ...(details && { details: [...details] }) };
}

/** What is unknown goes without the commands that its message names. */
function ofAdmin({ reason, message, details }: AdminError): ServiceError {
  if (reason === "unknown") return notFound("thing");
  const code = reason === "model" ? "model_not_allowed" : "invalid_request";
  return new ServiceError(code, message, { ...(details && { details }) });
}

/** The same for what does not exist and for what is another organisation's. */
export function notFound(what: string): ServiceError {
  return new ServiceError("not_found", `There is no such ${what} in this organisation.`);
}
