import type {
  Message,
  ModelFunction,
  ModelProvider,
  ModelRequest,
  ModelResult,
} from "@patchbay/engine/ports/model-provider";
import type { Account } from "./account.ts";
import { openaiClient } from "./openai-client.ts";

import { RESPONSES_WIRE, responsesAccumulator, type ResponsesEvent } from "./openai-responses-accumulator.ts";
import type { ServerProfile } from "./profiles.ts";
import { wireProvider } from "./turn-stream.ts";
import { type JsonObject, oncePer } from "@patchbay/kit";
import { openaiCapabilities, splitDescription } from "./capabilities.ts";
import { argumentsText, fittingEcho, settleTemperature, userText } from "./neutral-request.ts";
import { settleReasoning } from "./reasoning.ts";
import { strictParameters } from "./strict-schema.ts";
import { wireSchema } from "./wire-schema.ts";
import { withWireIds } from "./wire-ids.ts";
import { wireNames, type WireNames } from "./wire-names.ts";

/** OpenAI over the Responses API. */
export function createOpenaiResponses(account: Account, profile: ServerProfile): ModelProvider {
  const client = openaiClient(account);
  const post = profile.adapt((body, signal) => client("/responses", body, signal));
  return wireProvider<ResponsesEvent>("openai", (request) => {
    const { body, names, warnings } = responsesRequest(request);
    const parameters = strictParameters(request.functions);
    return {
      accumulator: responsesAccumulator({ model: request.model, names, parameters, warnings }),
      open: (signal) => post(body, signal),
    };
  });
}

/** The API refuses smaller limits. */
const MIN_OUTPUT_TOKENS = 16;

export function responsesRequest(request: ModelRequest) {
  const { model, system, functions, maxTokens, toolChoice, respond, cacheKey } = request;
  const names = wireNames(functions);
  const can = openaiCapabilities(model, "responses");
  const { level, warnings: ofReasoning } = settleReasoning(request, "responses");
  const { temperature, warnings } = settleTemperature(request, { takes: can.temperature || level === "none", max: 2 });
  warnings.push(...ofReasoning);
  if (maxTokens < MIN_OUTPUT_TOKENS)
    warnings.push(
      `The model ${model} takes at least ${MIN_OUTPUT_TOKENS} output tokens, so ${MIN_OUTPUT_TOKENS} were allowed instead of ${maxTokens}.`,
    );
  const body: JsonObject = {
    model,
    input: withWireIds(request, RESPONSES_WIRE).flatMap((message) => items(message, model, names)),
    max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, maxTokens),
    // OpenAI stores nothing: the items are sent back instead.
    store: false,
    stream: true,
    prompt_cache_key: cacheKey,
  };
  if (system !== "") body["instructions"] = system;
  if (functions.length > 0) {
    body["tools"] = tools(functions);
    body["tool_choice"] =
      toolChoice !== "respond" || !respond ? toolChoice : { type: "function", name: names.toWire(respond.name) };
  }
  if (can.reasoning) {
    body["reasoning"] = { summary: "auto", ...(level !== undefined && { effort: level }) };
    body["include"] = ["reasoning.encrypted_content"];
  }
  if (temperature !== undefined) body["temperature"] = temperature;
  return { body, warnings, names };
}

const tools = oncePer((functions: readonly ModelFunction[]): JsonObject[] => {
  const [names, parameters] = [wireNames(functions), strictParameters(functions)];
  return functions.map((one) => {
    const schema = parameters.schemaOf(one);
    return { type: "function", name: names.toWire(one.name), ...declared(one, schema), strict: schema !== undefined };
  });
});

function items(message: Message, model: string, names: WireNames): JsonObject[] {
  if (message.role === "user") return [{ role: "user", content: userText(message) }];
  if (message.role === "results")
    return message.results.map((one) => ({
      type: "function_call_output",
      call_id: one.callId,
      output: resultText(one),
    }));
  const echo = fittingEcho(message, RESPONSES_WIRE, model);
  if (echo) return echo as JsonObject[];
  const calls = message.calls.map(({ id, name, arguments: text }) => ({
    type: "function_call",
    call_id: id,
    name: names.toWire(name),
    arguments: argumentsText(text),
  }));
  return [...(message.text === "" ? [] : [{ role: "assistant", content: message.text }]), ...calls];
}

/** OpenAI's wires cannot mark a failed call, so the text says it. */
export function resultText({ content, isError }: ModelResult): string {
  return isError ? JSON.stringify({ error: content }) : content;
}

/** A function's description and parameters. */
export function declared({ description, inputSchema }: ModelFunction, schema = wireSchema(inputSchema)): JsonObject {
  const [head, rest] = splitDescription(description);
  const { description: own } = schema;
  const more = rest === undefined ? {} : { description: typeof own === "string" ? `${rest}\n${own}` : rest };
  return { description: head, parameters: { ...schema, ...more } };
}
