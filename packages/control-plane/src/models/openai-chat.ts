import type { OpenAI } from "openai";
import type { ModelProvider } from "../ports/model-provider.ts";
import { chatAccumulator, type ChatChunk } from "./openai-chat-accumulator.ts";
import { chatRequest } from "./openai-chat-request.ts";
import { lazyOpenai } from "./openai-client.ts";
import type { OpenaiConfig } from "./openai-config.ts";
import { sdkFailure } from "./sdk-failure.ts";
import { readJsonEvents, streamTurn } from "./turn-stream.ts";

/** Chat Completions: servers compatible with OpenAI, and its older models. */
export function createOpenaiChat(config: OpenaiConfig): ModelProvider {
  const connect = lazyOpenai(config);
  return {
    name: "openai",
    stream(request, { signal }) {
      const { body, names, warnings } = chatRequest(request);
      return streamTurn<ChatChunk>(
        {
          provider: "openai",
          accumulator: chatAccumulator({ model: request.model, names, warnings }),
          failure: (error) => sdkFailure("openai", error),
          async open(signal) {
            const { chat } = await connect();
            const params = body as unknown as OpenAI.ChatCompletionCreateParamsStreaming;
            const response = await chat.completions.create(params, { signal }).asResponse();
            return readJsonEvents("openai", response.body);
          },
        },
        signal,
      );
    },
  };
}
