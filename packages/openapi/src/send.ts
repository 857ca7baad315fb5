import {
  type CallContext,
  FunctionError,
  type JsonValue,
  OutcomeUnknownError,
  RetryableError,
} from "@patchbay/functions";
import { foreignError, wasNotSent } from "@patchbay/functions/sources";
import { inexactToText, isJsonObject, parseJson } from "@patchbay/kit";
import { isJsonType, type Operation } from "./operation.ts";
import type { ApiRequest } from "./request.ts";

/** Bytes that are read from an answer. A result may have 256 KiB; the rest is room for unlisted members. */
const ANSWER_BYTES = 16 * 1024 * 1024;
/** Redirects within one call. */
const MOST_REDIRECTS = 5;

/** How an operation is called. */
export interface Target {
  /** The API in messages. */
  where: string;
  operation: Operation;
  fetch: typeof fetch;
  /** True if a call may run twice. */
  mayRepeat: boolean;
  /** True if the function has `retries`. */
  retries: boolean;
  /** Texts that no error shows: the call's credentials. */
  secrets: readonly string[];
  /** Names that no error shows: members that only some roles see. */
  hidden: ReadonlySet<string>;
}

/** Sends a request. Returns the answer's value; throws an error that the model can use for any other answer than a success. */
export async function send(target: Target, request: ApiRequest, { signal }: CallContext): Promise<JsonValue> {
  const { where, mayRepeat, retries } = target;
  try {
    const response = await fetchWithin(target, request, signal);
    if (response.ok) return await toResult(response, target);
    throw await toError(response, target);
  } catch (cause) {
    const isOwn = [FunctionError, RetryableError, OutcomeUnknownError].some((kind) => cause instanceof kind);
    if (signal.aborted || isOwn) throw cause;
    if (!wasNotSent(cause) && !mayRepeat)
      throw new OutcomeUnknownError(`the connection to the ${where} ended during the call`, { cause });
    const message = `The ${where} cannot be reached. Try again later.`;
    throw retries ? new RetryableError({ message, cause }) : new FunctionError(message, { cause });
  }
}

/** Follows redirects for a request that only reads, within the origin: another host must not receive the credentials. */
async function fetchWithin(
  { where, fetch }: Target,
  { url, ...request }: ApiRequest,
  signal: AbortSignal,
): Promise<Response> {
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(at, { ...request, redirect: "manual", signal });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, at);
    if (request.method !== "GET" || next?.origin !== url.origin || redirects === MOST_REDIRECTS)
      throw new FunctionError(`The ${where} redirects the call to another address, which is not followed.`);
    at = next;
  }
}

async function toResult(response: Response, { where, operation }: Target): Promise<JsonValue> {
  const type = response.headers.get("content-type") ?? "";
  if (!isJsonType(type) && !/^$|^text\/|\b(xml|yaml|csv|javascript|x-ndjson)\b/.test(type)) {
    await response.body?.cancel();
    return `[${type}, ${response.headers.get("content-length") ?? "unknown number of"} bytes left out]`;
  }
  const text = await readText(response);
  const said = `The ${where} answered with status ${response.status}, and`;
  if (text === undefined) throw new FunctionError(`${said} with more than ${ANSWER_BYTES} bytes.`);
  if (text.trim() === "") return `Done, with status ${response.status} and no content.`;
  const isText = !isJsonType(type) && [operation.outputSchema?.["type"]].flat().includes("string");
  const parsed = isText ? undefined : parseJson(inexactToText(text));
  if (parsed?.ok) return parsed.value as JsonValue;
  if (isJsonType(type)) throw new FunctionError(`${said} with JSON that ${parsed?.message}.`);
  return text;
}

/** Undefined for a body beyond the limit. */
async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (sizeBytes > ANSWER_BYTES) return undefined;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

async function toError(response: Response, target: Target): Promise<Error> {
  const { where, mayRepeat, retries } = target;
  const { status, headers } = response;
  const message = `The ${where} answered with status ${status}.`;
  if (status < 500 && status !== 429) {
    const words = errorText(await readText(response), headers.get("content-type") ?? "", target);
    return foreignError(words === "" ? message : `${message} It says: ${words}`, message);
  }
  await response.body?.cancel();
  // A limiter, and a server without the method or without capacity, did not run the call.
  if (![429, 501, 503].includes(status) && !mayRepeat) return new OutcomeUnknownError(message);
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  if (retries) return new RetryableError({ message, ...(seconds >= 0 && { afterMs: 1000 * seconds }) });
  return new FunctionError(`${message} Try again ${seconds >= 0 ? `after ${seconds} seconds` : "later"}.`);
}

/** Members that say what is wrong, also by RFC 9457. Others, such as a trace, are for the API's own people. */
const ERROR_MEMBER = /err|message|msg|code|detail|reason|fault|title|status|type|field|param|invalid|violation|issue/i;
/** Characters from an error that is not JSON. */
const TEXT_UNITS = 500;

/** What an error says, without other members, hidden members and credentials. */
function errorText(text: string | undefined, type: string, { secrets, hidden }: Target): string {
  if (text === undefined || type.startsWith("text/html")) return "";
  const parsed = parseJson(text);
  const without = (value: JsonValue, isKept: (name: string) => boolean): JsonValue => {
    if (Array.isArray(value)) return value.map((item) => without(item, isKept));
    if (!isJsonObject(value)) return value;
    const kept = Object.entries(value).filter(([name]) => isKept(name) && !hidden.has(name));
    return Object.fromEntries(kept.map(([name, member]) => [name, without(member, () => true)]));
  };
  const shown = parsed.ok
    ? JSON.stringify(without(parsed.value as JsonValue, (name) => ERROR_MEMBER.test(name)))
    : text.slice(0, TEXT_UNITS);
  return secrets.reduce((all, secret) => all.replaceAll(secret, "[credential]"), shown === "{}" ? "" : shown);
}
