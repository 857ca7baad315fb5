import { isJsonObject, type JsonObject, parseJson } from "@patchbay/kit";
import type { ModelError } from "@patchbay/engine/ports/model-provider";
import { modelFailure, retryAfterMs } from "./model-failure.ts";
import type { OpenaiConfig } from "./openai-config.ts";
import { createProviderFetch } from "./provider-fetch.ts";

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
