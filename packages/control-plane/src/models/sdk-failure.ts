import type { ModelError } from "../ports/model-provider.ts";
import { modelFailure, networkFailure, retryAfterMs } from "./model-failure.ts";

/** What the SDKs of Anthropic and OpenAI throw has the same members. */
interface ApiError {
  status?: number;
  headers?: Headers;
  type?: string | null;
  code?: string | null;
  errorCode?: string | null;
}

/** Reads an error that one of the two SDKs threw, or that the body's reader did. */
export function sdkFailure(provider: string, error: unknown): ModelError {
  const { status, headers, type, code, errorCode } = (error ?? {}) as ApiError;
  // Without a status nothing was answered: no connection, or it was lost in the middle of the stream.
  if (typeof status !== "number") return networkFailure(provider, error);
  const message = error instanceof Error ? error.message : "no reason given";
  return modelFailure(
    provider,
    { status, codes: [type, code, errorCode], message, retryAfterMs: retryAfterMs(headers) },
    error,
  );
}
