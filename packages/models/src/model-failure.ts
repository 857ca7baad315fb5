import { wallMs } from "@patchbay/kit/time";
import { isJsonObject, present } from "@patchbay/kit";
import { ModelError, type ModelErrorKind } from "@patchbay/engine/ports/model-provider";
import { isOutOfFiles, OUT_OF_FILES } from "@patchbay/engine/ports/open-files";

/** A provider's failure in terms that all providers share. */
export interface ProviderFault {
  status?: number | undefined;
  /** The provider's own codes for it: type, code, reason. */
  codes: readonly (string | null | undefined)[];
  message: string;
  retryAfterMs?: number | undefined;
}

const BY_CODE: [RegExp, ModelErrorKind][] = [
  [/insufficient_quota|billing|spend_limit|payment_required/, "quota"],
  [/context_length_exceeded|context_window_exceeded|request_too_large/, "context_window"],
  [/authentication|permission|invalid_api_key|api_key_invalid|unauthenticated/, "authentication"],
  [/rate_limit|resource_exhausted|too_many_requests/, "rate_limited"],
  [/overloaded|unavailable|slow_down/, "overloaded"],
  [/timeout|deadline_exceeded|api_error|server_error|internal/, "server"],
  [/model_not_found|not_found/, "unknown_model"],
  [/invalid|unsupported|failed_precondition/, "bad_request"],
];

const CONTEXT_WORDS = /prompt is too long|maximum context length|exceeds? the (maximum|context)|context window/i;
/** Keys in the providers' formats, and any string as long: compatible servers quote the key that they refuse. */
const KEY_LIKE = /\b(?:sk|pk|rk|gsk|xai)-[\w-]{8,}|\bAIza[\w-]{20,}|\b[\w-]{40,}/g;
const publicText = (text: string): string => text.replace(KEY_LIKE, "***");
const MONEY_WORDS = /credit balance is too low/i;

/**
 * Maps a failure to one of the port's kinds. The log keeps the provider's text, shortened and without keys, except for
 * a refused key.
 */
export function modelFailure(provider: string, fault: ProviderFault, cause?: unknown): ModelError {
  const codes = fault.codes.filter((code) => typeof code === "string" && code !== "");
  const kind = kindOf(fault, codes.join(" ").toLowerCase());
  const what = [fault.status === undefined ? "failed in mid-stream" : `answered ${fault.status}`, ...new Set(codes)];
  const words = kind === "authentication" ? "the key was refused" : publicText(fault.message).slice(0, 300);
  return new ModelError(kind, `${provider} ${what.join(" ")}: ${words}`, {
    cause,
    ...present({ retryAfterMs: fault.retryAfterMs, status: fault.status }),
  });
}

function kindOf({ status, message }: ProviderFault, codes: string): ModelErrorKind {
  const byCode = BY_CODE.find(([pattern]) => pattern.test(codes))?.[1];
  if (byCode === "quota" || (status !== undefined && status < 500 && MONEY_WORDS.test(message))) return "quota";
  if (byCode === "context_window" || status === 413) return "context_window";
  if ((status === 400 || byCode === "bad_request") && CONTEXT_WORDS.test(message)) return "context_window";
  if (status === undefined) return byCode ?? "server";
  if (status === 400 && byCode === "authentication") return "authentication";
  if (status === 401 || status === 403) return "authentication";
  if (status === 404 || byCode === "unknown_model") return "unknown_model";
  if (status === 402) return "quota";
  if (status === 429) return "rate_limited";
  if (status === 503 || status === 529) return "overloaded";
  if (status === 408 || status === 409 || status >= 500) return "server";
  return "bad_request";
}

/** The wait a provider asks for in its headers. */
export function retryAfterMs(headers: Headers | undefined, now = wallMs): number | undefined {
  const precise = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (precise >= 0) return Math.ceil(precise);
  const header = headers?.get("retry-after");
  if (!header) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1000));
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now());
}

/** `what`: what arrived instead of an end. */
export function truncated(provider: string, what: string): ModelError {
  return new ModelError("truncated", `${provider} ended its stream (${what}) without saying that the turn is over`);
}

export function unreadable(provider: string, cause: unknown): ModelError {
  return new ModelError("server", `${provider} sent an event that is not JSON`, { cause });
}

/** The answer is not an event stream. `beginning`: its first bytes, which often say what answered instead. */
export function noStream(provider: string, type: string, beginning: string): ModelError {
  const shown = JSON.stringify(publicText(beginning).slice(0, 100));
  return new ModelError("unreadable", `${provider} answered with ${type} instead of events: ${shown}`);
}

/** Errors that the Anthropic and OpenAI packages throw. */
interface ApiError {
  status?: number;
  headers?: Headers;
  type?: string | null;
  code?: string | null;
  errorCode?: string | null;
  /** The body: at OpenAI its member `error`, where it has one. */
  error?: unknown;
  message?: string;
}

/** Reads an error that a provider's package, `fetch` or the body's reader threw. */
export function requestFailure(provider: string, error: unknown): ModelError {
  const causes = causesOf(error);
  const known = causes.find((one) => one instanceof ModelError);
  if (known) return known;
  // Without a status there was no response: no connection, or it broke during the stream.
  if (isOutOfFiles(error))
    return new ModelError("out_of_files", `${provider} was not asked: ${OUT_OF_FILES}`, { cause: error });
  const { status, headers, type, code, errorCode } = (error ?? {}) as ApiError;
  if (typeof status === "number") {
    const fault = { status, codes: [type, code, errorCode], message: wordsOf(error as ApiError) };
    return modelFailure(provider, { ...fault, retryAfterMs: retryAfterMs(headers) }, error);
  }
  if (isOfConnection(causes))
    return new ModelError("network", `${provider} could not be reached, or the connection was lost`, { cause: error });
  const fault = causes.at(-1);
  // Its place: a fault of this service must not look like one of the connection.
  const [, place = "an unknown place"] = /^\s+at (.+)$/m.exec(fault?.stack ?? "") ?? [];
  const what = publicText(`${fault?.name}: ${fault?.message}`).slice(0, 200);
  return new ModelError("internal", `the request to ${provider} or its answer met ${what}, at ${place}`, {
    cause: error,
  });
}

const causesOf = (error: unknown): Error[] => (error instanceof Error ? [error, ...causesOf(error.cause)] : []);

/** Errors of connections have a code, or their package's name for them; those of the language are faults in code. */
function isOfConnection(causes: readonly Error[]): boolean {
  const first = causes.at(-1);
  if ([TypeError, RangeError, ReferenceError, SyntaxError].some((own) => first instanceof own)) return false;
  return causes.some(
    (one) => typeof (one as { code?: unknown }).code === "string" || /Connection/.test(one.constructor.name),
  );
}

/** The provider's own words, without the status and the names that the packages put before them. */
function wordsOf({ error, message = "no reason given" }: ApiError): string {
  const inner = isJsonObject(error) ? (error["error"] ?? error) : error;
  const words = isJsonObject(inner) ? (inner["message"] ?? inner) : inner;
  if (typeof words === "string") return words;
  return isJsonObject(words) ? JSON.stringify(words) : message.replace(/^\d{3} /, "");
}
