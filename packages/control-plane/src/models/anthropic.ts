import type { Anthropic, ClientOptions } from "@anthropic-ai/sdk";
import type { ModelProvider } from "../ports/model-provider.ts";
import { anthropicAccumulator, type AnthropicEvent } from "./anthropic-accumulator.ts";
import { anthropicRequest } from "./anthropic-request.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import { sdkFailure } from "./sdk-failure.ts";
import { readJsonEvents, streamTurn } from "./turn-stream.ts";

export interface AnthropicConfig {
  apiKey: string;
  /** Without `/v1`. Default: Anthropic's own. */
  baseUrl?: string;
}

/** Claude over the Messages API. */
export function createAnthropic({ apiKey, baseUrl = "https://api.anthropic.com" }: AnthropicConfig): ModelProvider {
  let client: Promise<Anthropic> | undefined;
  const connect = () =>
    (client ??= import("@anthropic-ai/sdk").then(({ Anthropic }) => {
      const fetch = createProviderFetch();
      const options: ClientOptions = { apiKey, baseURL: baseUrl, maxRetries: 0, logLevel: "off", fetch };
      return new Anthropic(options);
    }));

  return {
    name: "anthropic",
    stream(request, { signal }) {
      const { body, headers, names, parameters, warnings } = anthropicRequest(request);
      return streamTurn<AnthropicEvent>(
        {
          provider: "anthropic",
          accumulator: anthropicAccumulator({ model: request.model, names, parameters, warnings }),
          failure: (error) => sdkFailure("anthropic", error),
          async open(signal) {
            const { messages } = await connect();
            // The body is this package's own, so that members the types have lost (temperature) can be sent.
            const params = body as unknown as Anthropic.MessageCreateParamsStreaming;
            const response = await messages.create(params, { signal, headers }).asResponse();
            return readJsonEvents("anthropic", response.body);
          },
        },
        signal,
      );
    },
  };
}
