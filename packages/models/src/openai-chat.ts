import type { Message, ModelFunction, ModelProvider, ModelRequest } from "@patchbay/engine/ports/model-provider";
import { CHAT_WIRE, chatAccumulator, type ChatChunk } from "./openai-chat-accumulator.ts";
import type { Account } from "./account.ts";
import { openaiClient } from "./openai-client.ts";
import type { ServerProfile } from "./profiles.ts";
import { wireProvider } from "./turn-stream.ts";
import { type JsonObject, type JsonValue, oncePer, present } from "@patchbay/kit";
import { openaiCapabilities } from "./capabilities.ts";
import { argumentsText, fittingEcho, settleTemperature, userText } from "./neutral-request.ts";
import { settleReasoning } from "./reasoning.ts";
import { declared, resultText } from "./openai-responses.ts";
import { strictParameters } from "./strict-schema.ts";
import { withWireIds } from "./wire-ids.ts";
import { wireNames, type WireNames } from "./wire-names.ts";

/** Chat Completions: servers compatible with OpenAI, and its older models. */
export function createOpenaiChat(account: Account, profile: ServerProfile): ModelProvider {
  const client = openaiClient(account);
  const post = profile.adapt((body, signal) => client("/chat/completions", body, signal));
  return wireProvider<ChatChunk>("openai", (request) => {
    const { body, names, parameters, warnings } = chatRequest(request);
    return {
      accumulator: chatAccumulator({ model: request.model, names, ...present({ parameters }), warnings }),
      open: (signal) => post(body, signal),
      eventOf: chunkOf,
    };
  });
}

/** A whole completion as its one chunk, from servers that do not stream. */
function chunkOf(completion: JsonObject): ChatChunk {
  const chunk: ChatChunk = completion;
  if (!Array.isArray(chunk.choices)) return chunk;
  return { ...chunk, choices: chunk.choices.map((choice) => ({ delta: choice.message ?? null, ...choice })) };
}

export function chatRequest(request: ModelRequest) {
  const { model, system, functions, maxTokens, cacheKey } = request;
  const names = wireNames(functions);
  const can = openaiCapabilities(model, "chat");
  const idle = can.chatWithoutReasoning && functions.length > 0;
  const wire = idle ? "idle" : can.own ? "responses" : "compatible";
  const { level, warnings: ofReasoning } = settleReasoning(request, wire);
  const takes = can.temperature || idle || level === "none";
  const { temperature, warnings } = settleTemperature(request, { takes, max: 2 });
  warnings.push(...ofReasoning);
  const body: JsonObject = {
    model,
    messages: [
      ...(system === "" ? [] : [{ role: can.reasoning ? "developer" : "system", content: system }]),
      ...withWireIds(request, CHAT_WIRE).flatMap((message) => messages(message, model, names)),
    ],
    [can.reasoning ? "max_completion_tokens" : "max_tokens"]: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  };
  if (functions.length > 0) {
    body["tools"] = can.own ? strictTools(functions) : tools(functions);
    body["tool_choice"] = choiceOf(request, names, can.own);
  }
  if (idle) body["reasoning_effort"] = "none";
  else if (level !== undefined) body["reasoning_effort"] = level;
  // Compatible servers may refuse unknown members.
  if (can.own) body["prompt_cache_key"] = cacheKey;
  if (temperature !== undefined) body["temperature"] = temperature;
  const parameters = can.own ? strictParameters(functions) : undefined;
  return { body, warnings, names, parameters };
}

/** Some compatible servers refuse a forced function, and with some it never ends. */
function choiceOf({ toolChoice, respond }: ModelRequest, names: WireNames, own: boolean): JsonValue {
  if (toolChoice !== "respond") return toolChoice;
  return own && respond ? { type: "function", function: { name: names.toWire(respond.name) } } : "auto";
}

const toolsWith = (schemaOf: (one: ModelFunction, functions: readonly ModelFunction[]) => JsonObject | undefined) =>
  oncePer((functions: readonly ModelFunction[]): JsonObject[] =>
    functions.map((one) => {
      const schema = schemaOf(one, functions);
      const strict = schema !== undefined && { strict: true };
      const name = wireNames(functions).toWire(one.name);
      return { type: "function", function: { name, ...declared(one, schema), ...strict } };
    }),
  );
const tools = toolsWith(() => undefined);
const strictTools = toolsWith((one, functions) => strictParameters(functions).schemaOf(one));

function messages(message: Message, model: string, names: WireNames): JsonObject[] {
  if (message.role === "user") return [{ role: "user", content: userText(message) }];
  if (message.role === "results")
    return message.results.map((one) => ({ role: "tool", tool_call_id: one.callId, content: resultText(one) }));
  const echo = fittingEcho(message, CHAT_WIRE, model);
  if (echo) return [echo as JsonObject];
  if (message.calls.length === 0) return message.text === "" ? [] : [{ role: "assistant", content: message.text }];
  const calls = message.calls.map(({ id, name, arguments: text }) => ({
    id,
    type: "function",
    function: { name: names.toWire(name), arguments: argumentsText(text) },
  }));
  return [{ role: "assistant", content: message.text || null, tool_calls: calls }];
}
