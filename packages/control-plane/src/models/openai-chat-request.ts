import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { Message, ModelFunction, ModelRequest } from "../ports/model-provider.ts";
import { openaiCapabilities } from "./capabilities.ts";
import { argumentsText, fittingEcho, settleTemperature, userText } from "./neutral-request.ts";
import { resultText } from "./openai-responses-request.ts";
import { takesStrict } from "./strict-schema.ts";
import { wireNames, type WireNames } from "./wire-names.ts";
import { wireSchema } from "./wire-schema.ts";

/** Tags the message this wire's turns are echoed with. */
export const CHAT_WIRE = "openai-chat";

export interface ChatRequest {
  body: JsonObject;
  warnings: string[];
  names: WireNames;
}

export function chatRequest(request: ModelRequest): ChatRequest {
  const { model, system, functions, maxTokens, cacheKey } = request;
  const names = wireNames(functions);
  const can = openaiCapabilities(model, "chat");
  const idle = can.chatWithoutReasoning && functions.length > 0;
  const { temperature, warnings } = settleTemperature(request, { takes: can.temperature || idle, max: 2 });
  const body: JsonObject = {
    model,
    messages: [
      ...(system === "" ? [] : [{ role: can.reasoning ? "developer" : "system", content: system }]),
      ...request.messages.flatMap((message) => messages(message, model, names)),
    ],
    [can.reasoning ? "max_completion_tokens" : "max_tokens"]: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  };
  if (functions.length > 0) {
    const list = tools(functions, names);
    body["tools"] = can.own && takesStrict(request.respond) ? [...list.slice(0, -1), strict(list.at(-1)!)] : list;
    body["tool_choice"] = choiceOf(request, names, can.own);
  }
  if (idle) body["reasoning_effort"] = "none";
  // Compatible servers may refuse members they do not know.
  if (can.own) body["prompt_cache_key"] = cacheKey;
  if (temperature !== undefined) body["temperature"] = temperature;
  return { body, warnings, names };
}

/** Of the compatible servers, some refuse the choice of one function and some never end under it. */
function choiceOf({ toolChoice, respond }: ModelRequest, names: WireNames, own: boolean): JsonValue {
  if (toolChoice !== "respond") return toolChoice;
  return own && respond ? { type: "function", function: { name: names.toWire(respond.name) } } : "auto";
}

interface Tool extends JsonObject {
  type: "function";
  function: JsonObject;
}

const knownTools = new WeakMap<readonly ModelFunction[], Tool[]>();

function tools(functions: readonly ModelFunction[], names: WireNames): Tool[] {
  let list = knownTools.get(functions);
  if (!list) {
    list = functions.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name: names.toWire(name), description, parameters: wireSchema(inputSchema) },
    }));
    knownTools.set(functions, list);
  }
  return list;
}

const strict = ({ type, function: one }: Tool): Tool => ({ type, function: { ...one, strict: true } });

function messages(message: Message, model: string, names: WireNames): JsonObject[] {
  if (message.role === "user") return [{ role: "user", content: userText(message) }];
  if (message.role === "results")
    return message.results.map((result) => ({
      role: "tool",
      tool_call_id: result.callId,
      content: resultText(result),
    }));
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
