import { isJsonObject, type JsonObject, parseJson } from "@patchbay/kit";
import type { ModelError, TokenUsage } from "@patchbay/engine/ports/model-provider";
import { modelFailure, retryAfterMs } from "./model-failure.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import type { Meter } from "./turn-stream.ts";

/** An account at OpenAI, or at a server compatible with it. */
export interface OpenaiConfig {
  apiKey: string;
  /** With `/v1`. Default: OpenAI's own. */
  baseUrl?: string;
}

/**
 * Posts one account's requests with `fetch`. The loop has its own retries, timeouts and readers; all that remains in
 * the `openai` package are two headers, which cost 9 MB of memory and more time than the rest of the request.
 */
export function openaiClient({ apiKey, baseUrl = "https://api.openai.com/v1" }: OpenaiConfig) {
  const fetch = createProviderFetch();
  const address = baseUrl.replace(/\/+$/, "");
  let headers: Headers | undefined;
  return async (path: "/chat/completions" | "/responses", body: JsonObject, signal: AbortSignal): Promise<Response> => {
    // Built with the first request: a key with characters that a header may not contain fails the run, as a wrong key
    // does, not the process.
    headers ??= new Headers({
      Accept: "text/event-stream",
      Authorization: `Bearer ${apiKey}`,
      "Content-Type": "application/json",
      "User-Agent": "Patchbay",
    });
    const response = await fetch(address + path, { method: "POST", headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw await refusal(response);
    return response;
  };
}

/** OpenAI's body is `{ error: { message, type, code } }`. Compatible servers send text, and numbers as codes. */
async function refusal(response: Response): Promise<ModelError> {
  const said = await response.text();
  const body = parseJson(said);
  const error = body.ok && isJsonObject(body.value) ? body.value["error"] : undefined;
  const { type, code, message = error ?? said } = isJsonObject(error) ? error : {};
  return modelFailure("openai", {
    status: response.status,
    codes: [type, code].map((one) => (typeof one === "string" ? one : undefined)),
    message: typeof message === "string" ? message : JSON.stringify(message),
    retryAfterMs: retryAfterMs(response.headers),
  });
}

interface OpenaiCounts {
  input?: number | undefined;
  details?: { cached_tokens?: number; cache_write_tokens?: number } | null | undefined;
  output?: number | undefined;
}

/** The counts of both wires, which name them differently. */
export const openaiUsage = ({ input, details, output }: OpenaiCounts, { count }: Meter): TokenUsage => ({
  input: count(input),
  cachedInput: count(details?.cached_tokens),
  cacheWriteInput: count(details?.cache_write_tokens),
  output: count(output),
});
