import type { ModelProvider } from "../ports/model-provider.ts";
import { geminiAccumulator, type GeminiChunk } from "./gemini-accumulator.ts";
import { geminiFailure } from "./gemini-failure.ts";
import { geminiRequest, type GeminiBody } from "./gemini-request.ts";
import { streamTurn } from "./turn-stream.ts";

export interface GeminiConfig {
  apiKey: string;
  /** Without a version. Default: Google's own. */
  baseUrl?: string;
}

/** All that is used of an SDK, so that another one can take its place. */
export interface GeminiClient {
  generateContentStream(
    model: string,
    body: GeminiBody,
    options: { signal: AbortSignal },
  ): Promise<AsyncIterable<GeminiChunk>>;
}

/** Gemini over generateContent, read by raw chunks: the SDK's own totals lose signatures and calls. */
export function createGemini(
  config: GeminiConfig,
  connect: () => Promise<GeminiClient> = lazySdk(config),
): ModelProvider {
  return {
    name: "gemini",
    stream(request, { signal }) {
      const { body, names, warnings } = geminiRequest(request);
      return streamTurn<GeminiChunk>(
        {
          provider: "gemini",
          accumulator: geminiAccumulator({ model: request.model, names, warnings }),
          failure: geminiFailure,
          async open(signal) {
            const client = await connect();
            // The SDK does not look at a signal that was aborted before it began.
            signal.throwIfAborted();
            return oneByOne(await client.generateContentStream(request.model, body, { signal }));
          },
        },
        signal,
      );
    },
  };
}

async function* oneByOne(chunks: AsyncIterable<GeminiChunk>): AsyncGenerator<GeminiChunk[], void, undefined> {
  for await (const chunk of chunks) yield [chunk];
}

function lazySdk({ apiKey, baseUrl }: GeminiConfig): () => Promise<GeminiClient> {
  let client: Promise<GeminiClient> | undefined;
  return () =>
    (client ??= import("@google/generative-ai").then(({ GoogleGenerativeAI }) => {
      const sdk = new GoogleGenerativeAI(apiKey);
      return {
        async generateContentStream(model, body, options) {
          const generative = sdk.getGenerativeModel({ model }, baseUrl === undefined ? {} : { baseUrl });
          type Body = Parameters<typeof generative.generateContentStream>[0];
          const { stream, response } = await generative.generateContentStream(body as unknown as Body, options);
          // Nobody awaits the SDK's total, and its rejection would end the process.
          response.catch(() => {});
          return stream as unknown as AsyncIterable<GeminiChunk>;
        },
      };
    }));
}
