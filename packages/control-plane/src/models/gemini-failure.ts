import type { ErrorDetails } from "@google/generative-ai";
import { isJsonObject } from "@patchbay/protocol";
import type { ModelError } from "../ports/model-provider.ts";
import { modelFailure, retryAfterMs } from "./model-failure.ts";

/** The SDK's form of a detail, with the members that it leaves open. */
type Detail = Partial<ErrorDetails> & {
  /** For example `34s` or `0.25s`. */
  retryDelay?: string;
  violations?: { quotaId?: string }[];
};

/** The `error` member of the wire's bodies and of a chunk in mid-stream. */
export interface GeminiErrorBody {
  code?: number;
  status?: string;
  message?: string;
  details?: Detail[];
}

/** `headers` of the response, where the error came with one: its body's own delay is the more exact one. */
export function geminiFault(error: GeminiErrorBody, headers?: Headers): ModelError {
  const { code, status, message = "no reason given", details = [] } = error;
  const seconds = Number.parseFloat(details.find(({ retryDelay }) => retryDelay !== undefined)?.retryDelay ?? "");
  const usedUp = details.some(({ violations }) => violations?.some(({ quotaId }) => quotaId?.includes("PerDay")));
  const codes = [status, ...details.map(({ reason }) => reason), usedUp ? "insufficient_quota" : undefined];
  const wait = Number.isFinite(seconds) ? Math.ceil(seconds * 1000) : retryAfterMs(headers);
  return modelFailure("gemini", { status: code, codes, message, retryAfterMs: wait });
}

/** Reads an answer with an error status. Gateways in front of Google may answer with a body of another form. */
export async function geminiRefusal(response: Response): Promise<ModelError> {
  const { error, text } = readError(await response.text());
  return geminiFault({ message: text, ...error, code: response.status }, response.headers);
}

function readError(text: string): { error?: GeminiErrorBody; text: string } {
  try {
    const body: unknown = JSON.parse(text);
    const first: unknown = Array.isArray(body) ? body[0] : body;
    if (isJsonObject(first) && isJsonObject(first["error"])) return { error: first["error"], text };
  } catch {
    // Not JSON: its text is the reason.
  }
  return { text };
}
