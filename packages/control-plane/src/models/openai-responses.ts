import type { OpenAI } from "openai";
import type { ModelProvider } from "../ports/model-provider.ts";
import { lazyOpenai } from "./openai-client.ts";
import type { OpenaiConfig } from "./openai-config.ts";
import { responsesAccumulator, type ResponsesEvent } from "./openai-responses-accumulator.ts";
import { responsesRequest } from "./openai-responses-request.ts";
import { sdkFailure } from "./sdk-failure.ts";
import { readJsonEvents, streamTurn } from "./turn-stream.ts";

/** OpenAI over the Responses API. */
export function createOpenaiResponses(config: OpenaiConfig): ModelProvider {
  const connect = lazyOpenai(config);
  return {
    name: "openai",
    stream(request, { signal }) {
      const { body, names, warnings } = responsesRequest(request);
      return streamTurn<ResponsesEvent>(
        {
          provider: "openai",
          accumulator: responsesAccumulator({ model: request.model, names, warnings }),
          failure: (error) => sdkFailure("openai", error),
          async open(signal) {
            const { responses } = await connect();
            const params = body as unknown as OpenAI.Responses.ResponseCreateParamsStreaming;
            const response = await responses.create(params, { signal }).asResponse();
            return readJsonEvents("openai", response.body);
          },
        },
        signal,
      );
    },
  };
}
