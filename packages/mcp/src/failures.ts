import { INVALID_PARAMS, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { FunctionError, OutcomeUnknownError } from "@patchbay/functions";
import { toFunctionError } from "./results.ts";

/** The server cannot be reached now, and the call was not sent. */
export class NotRunningError extends FunctionError {
  constructor(name: string) {
    super(`The MCP server "${name}" is not running. Try again later.`);
  }
}

/** Converts an error from a request to the server `name` to the function's error. */
export function explain(error: unknown, name: string): Error {
  if (error instanceof ProtocolError)
    return error.code === INVALID_PARAMS
      ? toFunctionError(error.message, `The MCP server "${name}" refused the arguments.`)
      : new Error(`the MCP server answered with an error: ${error.message}`, { cause: error });
  if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500)
    return error.status === 404
      ? new NotRunningError(name)
      : new FunctionError(`The MCP server "${name}" refused the request with status ${error.status}.`);
  if (error instanceof SdkError && error.code === SdkErrorCode.NotConnected) return new NotRunningError(name);
  if (wasNotSent(error)) return new NotRunningError(name);
  return new OutcomeUnknownError(`the connection to the MCP server "${name}" ended during the call`, { cause: error });
}

/** True for an HTTP request that reached no server. */
function wasNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(String((cause as { code?: unknown }).code))) return true;
  return false;
}
