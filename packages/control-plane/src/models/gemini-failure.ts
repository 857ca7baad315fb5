import { ModelError } from "../ports/model-provider.ts";
import { modelFailure, networkFailure } from "./model-failure.ts";

interface ErrorDetail {
  "@type"?: string;
  reason?: string;
  /** For example `34s` or `0.25s`. */
  retryDelay?: string;
  violations?: { quotaId?: string }[];
}

/** The `error` member of the wire's bodies and of a chunk in mid-stream. */
export interface GeminiErrorBody {
  code?: number;
  status?: string;
  message?: string;
  details?: ErrorDetail[];
}

export function geminiFault(
  { code, status, message = "no reason given", details = [] }: GeminiErrorBody,
  cause?: unknown,
) {
  const delay = details.find(({ retryDelay }) => retryDelay !== undefined)?.retryDelay;
  const seconds = Number.parseFloat(delay ?? "");
  const usedUp = details.some(({ violations }) => violations?.some(({ quotaId }) => quotaId?.includes("PerDay")));
  const codes = [status, ...details.map(({ reason }) => reason), usedUp ? "insufficient_quota" : undefined];
  const wait = Number.isFinite(seconds) ? { retryAfterMs: Math.ceil(seconds * 1000) } : {};
  return modelFailure("gemini", { status: code, codes, message, ...wait }, cause);
}

/** Reads what the SDK threw: its errors of an answered request have a status, all others tell by their text alone. */
export function geminiFailure(error: unknown): ModelError {
  const { status, errorDetails, message } = (error ?? {}) as {
    status?: number;
    errorDetails?: ErrorDetail[];
    message?: string;
  };
  if (typeof status === "number")
    return geminiFault({ code: status, details: errorDetails ?? [], ...(message ? { message } : {}) }, error);
  if (message?.includes("Failed to parse stream"))
    return new ModelError("truncated", "gemini ended its stream inside an event", { cause: error });
  if (message?.includes("Error parsing JSON"))
    return new ModelError("server", "gemini sent an event that is no JSON", { cause: error });
  return networkFailure("gemini", error);
}
