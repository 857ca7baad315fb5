import type { ModelProvider } from "../ports/model-provider.ts";
import { geminiAccumulator, type GeminiChunk } from "./gemini-accumulator.ts";
import { geminiRefusal } from "./gemini-failure.ts";
import { geminiRequest } from "./gemini-request.ts";
import { networkFailure } from "./model-failure.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import { readJsonEvents, streamTurn } from "./turn-stream.ts";

export interface GeminiConfig {
  apiKey: string;
  /** Without a version. Default: Google's own. */
  baseUrl?: string;
}

/**
 * Gemini over generateContent. The request and the reader are our own: `@google/generative-ai`, which gives the types of the
 * request and of errors, reads only one form of server-sent events, hides the headers of an error, and loses signatures and calls.
 */
export function createGemini({
  apiKey,
  baseUrl = "https://generativelanguage.googleapis.com",
}: GeminiConfig): ModelProvider {
  const fetch = createProviderFetch();
  const headers = new Headers({ "Content-Type": "application/json", "x-goog-api-key": apiKey });
  return {
    name: "gemini",
    stream(request, { signal }) {
      const { body, names, warnings } = geminiRequest(request);
      return streamTurn<GeminiChunk>(
        {
          provider: "gemini",
          accumulator: geminiAccumulator({ model: request.model, names, warnings }),
          failure: (error) => networkFailure("gemini", error),
          async open(signal) {
            const url = `${baseUrl}/v1beta/${resourceOf(request.model)}:streamGenerateContent?alt=sse`;
            const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
            if (!response.ok) throw await geminiRefusal(response);
            // The reader takes Node's own bytes, which is what this `fetch` answers.
            return readJsonEvents("gemini", response.body as unknown as AsyncIterable<Uint8Array>);
          },
        },
        signal,
      );
    },
  };
}

/** A model's part of the address. Whatever else a name holds is encoded, so that it cannot lead to another method of the API. */
function resourceOf(model: string): string {
  const tuned = /^tunedModels\/(.+)$/.exec(model)?.[1];
  return tuned === undefined ? `models/${encodeURIComponent(model)}` : `tunedModels/${encodeURIComponent(tuned)}`;
}
