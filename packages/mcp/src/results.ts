import {
  type CallToolResult,
  type ContentBlock,
  INVALID_PARAMS,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { FunctionError, type JsonValue, OutcomeUnknownError } from "@patchbay/functions";
import { foreignError, wasNotSent } from "@patchbay/functions/sources";

/**
 * Converts a tool's result to the function's: the structured content, else the texts, with a note in place of pictures,
 * sound and other bytes. Throws `FunctionError` for a result that the tool marks as an error.
 */
export function toResult({ isError, structuredContent, content }: CallToolResult): unknown {
  if (isError) {
    const text = content.map(toValue).filter((value) => typeof value === "string");
    throw foreignError(text.join("\n"), "The tool failed without a message.");
  }
  if (structuredContent !== undefined) return structuredContent;
  const values = content.map(toValue);
  if (values.length === 1) return values[0];
  return values.every((value) => typeof value === "string") ? values.join("\n") : values;
}

function toValue(block: ContentBlock): JsonValue {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return leftOut(block.mimeType, block.data);
    case "resource_link":
      return { uri: block.uri, name: block.name, ...(block.mimeType !== undefined && { mimeType: block.mimeType }) };
    case "resource": {
      const { resource } = block;
      return "text" in resource
        ? resource.text
        : leftOut(resource.mimeType ?? "application/octet-stream", resource.blob);
    }
    default:
      return "[content of an unknown type left out]";
  }
}

/** `data` is base64: four characters for three bytes. */
function leftOut(mimeType: string, data: string): string {
  return `[${mimeType}, ${Math.ceil((data.length * 3) / 4 / 1024)} KiB left out]`;
}

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
      ? foreignError(error.message, `The MCP server "${name}" refused the arguments.`)
      : new Error(`the MCP server answered with an error: ${error.message}`, { cause: error });
  if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500)
    return error.status === 404
      ? new NotRunningError(name)
      : new FunctionError(`The MCP server "${name}" refused the request with status ${error.status}.`);
  if (error instanceof SdkError && error.code === SdkErrorCode.NotConnected) return new NotRunningError(name);
  if (wasNotSent(error)) return new NotRunningError(name);
  return new OutcomeUnknownError(`the connection to the MCP server "${name}" ended during the call`, { cause: error });
}
