import { isJsonObject, type JsonObject } from "@patchbay/kit";
import type { ScriptedError } from "./script.ts";
import { COMMON_NAME, list, str } from "./wire-format.ts";

/** Models that reason: no temperature (unless reasoning is disabled), no `max_tokens`. */
export const REASONING = /^(o\d|gpt-[5-9])/;

const CODES: Record<number, [string, string | null]> = {
  400: ["invalid_request_error", null],
  401: ["invalid_request_error", "invalid_api_key"],
  403: ["invalid_request_error", "unsupported_country_region_territory"],
  404: ["invalid_request_error", "model_not_found"],
  429: ["requests", "rate_limit_exceeded"],
  500: ["server_error", null],
  503: ["server_error", null],
};

/** The body of an HTTP error, the same on both of OpenAI's wires. */
export function openaiErrorBody({ status, code, message = "scripted" }: ScriptedError): JsonObject {
  const [type, usual] = CODES[status] ?? ["invalid_request_error", null];
  return { error: { message, type, param: null, code: code ?? usual } };
}

/** Compatible servers parse the arguments of earlier calls, and reject the request if one is not an object. */
export function argumentsFault(calls: readonly JsonObject[]): string | undefined {
  const broken = calls.find(({ arguments: text }) => {
    try {
      return !isJsonObject(JSON.parse(str(text)));
    } catch {
      return true;
    }
  });
  return (
    broken && `The arguments of the call ${str(broken["name"])} are not a JSON object: ${str(broken["arguments"])}`
  );
}

/** What a strict schema lacks: each object must require all its members, and be closed. */
function strictFault(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const { properties, required, additionalProperties } = schema as JsonObject;
  if (isJsonObject(properties)) {
    const missing = Object.keys(properties).filter((name) => !(Array.isArray(required) && required.includes(name)));
    if (missing.length > 0)
      return `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing[0]}'.`;
    if (additionalProperties !== false) return "'additionalProperties' is required to be supplied and to be false.";
  }
  return Object.values(schema)
    .map(strictFault)
    .find((fault) => fault !== undefined);
}

/** Faults of a list of function definitions, without the nesting of the Chat Completions wire. */
export function functionsFault(functions: JsonObject[]): string | undefined {
  for (const [at, { name, description, parameters, strict }] of functions.entries()) {
    const fault = strict === true ? strictFault(parameters) : undefined;
    if (fault) return `Invalid schema for function '${str(name)}': In context=(), ${fault}`;
    if (str(description).length > 1_024)
      return `Invalid 'tools[${at}].function.description': string too long. Expected a string with maximum length 1024.`;
    if (!COMMON_NAME.test(str(name)))
      return `Invalid 'tools[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    const schema = list([parameters ?? null])[0];
    if (schema?.["type"] !== "object" || ["oneOf", "anyOf", "allOf", "enum", "not"].some((member) => member in schema))
      return `Invalid schema for function '${str(name)}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`;
  }
  return functions.length > 128 ? "Invalid 'tools': array too long." : undefined;
}
