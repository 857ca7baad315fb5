import type { JsonObject } from "@patchbay/protocol";
import type { Message, ModelFunction, ModelRequest } from "../ports/model-provider.ts";
import { anthropicCapabilities } from "./capabilities.ts";
import { fittingEcho, parseArguments, settleTemperature, userText } from "./neutral-request.ts";
import { wireNames, type WireNames } from "./wire-names.ts";
import { wireParameters, type WireParameters } from "./wire-parameters.ts";

/** Tags the blocks this wire's turns are echoed with. */
export const ANTHROPIC_WIRE = "anthropic";

/** The last version of the API that takes a temperature, for the models that still do. */
const VERSION_WITH_TEMPERATURE = "2023-06-01";

interface AnthropicMessage {
  role: "user" | "assistant";
  content: JsonObject[];
}

export interface AnthropicRequest {
  body: JsonObject;
  headers: Record<string, string>;
  warnings: string[];
  names: WireNames;
  parameters: WireParameters;
}

export function anthropicRequest(request: ModelRequest): AnthropicRequest {
  const { model, system, functions, maxTokens } = request;
  const names = wireNames(functions);
  const parameters = wireParameters(functions);
  const can = anthropicCapabilities(model);
  const { temperature, warnings } = settleTemperature(request, { takes: can.temperature, max: 1 });
  const body: JsonObject = { model, max_tokens: maxTokens, stream: true, cache_control: { type: "ephemeral" } };
  if (system !== "") body["system"] = system;
  if (functions.length > 0) {
    body["tools"] = tools(functions, names);
  }
  // Thinking and a temperature exclude each other; who asked for a temperature gets it.
  if (temperature === undefined) Object.assign(body, thinking(can.thinking, maxTokens));
  else body["temperature"] = temperature;
  if (functions.length > 0) body["tool_choice"] = choiceOf(request, names, "thinking" in body);
  body["messages"] = messages(request, names, parameters) as unknown as JsonObject[];
  const headers: Record<string, string> =
    temperature === undefined ? {} : { "anthropic-version": VERSION_WITH_TEMPERATURE };
  return { body, headers, warnings, names, parameters };
}

/** A request that asks for thinking and forces a call is refused. */
function choiceOf({ toolChoice, respond }: ModelRequest, names: WireNames, thinks: boolean): JsonObject {
  if (toolChoice !== "respond") return { type: toolChoice };
  return respond && !thinks ? { type: "tool", name: names.toWire(respond.name) } : { type: "auto" };
}

function thinking(kind: "adaptive" | "budget" | "none", maxTokens: number): JsonObject {
  // Without `display` the newest models leave the text of their thoughts empty.
  if (kind === "adaptive") return { thinking: { type: "adaptive", display: "summarized" } };
  const budget = Math.min(4096, Math.floor(maxTokens / 2));
  if (kind === "none" || budget < 1024) return {};
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

const knownTools = new WeakMap<readonly ModelFunction[], JsonObject[]>();

function tools(functions: readonly ModelFunction[], names: WireNames): JsonObject[] {
  let list = knownTools.get(functions);
  if (!list) {
    const parameters = wireParameters(functions);
    list = functions.map((one) => ({
      name: names.toWire(one.name),
      description: one.description,
      input_schema: parameters.schemaOf(one),
    }));
    knownTools.set(functions, list);
  }
  return list;
}

function messages({ messages, model }: ModelRequest, names: WireNames, parameters: WireParameters): AnthropicMessage[] {
  const list: AnthropicMessage[] = [];
  const add = (role: AnthropicMessage["role"], content: JsonObject[]) => {
    if (content.length === 0) return;
    const last = list.at(-1);
    // Results and the text after them are one message, results first.
    if (role === "user" && last?.role === "user") last.content.push(...content);
    else list.push({ role, content });
  };
  for (const message of messages) {
    if (message.role === "user") add("user", textBlocks(userText(message)));
    else if (message.role === "assistant") add("assistant", assistantBlocks(message, model, names, parameters));
    else add("user", message.results.map(resultBlock));
  }
  return list;
}

function assistantBlocks(
  message: Extract<Message, { role: "assistant" }>,
  model: string,
  names: WireNames,
  parameters: WireParameters,
): JsonObject[] {
  const echo = fittingEcho(message, ANTHROPIC_WIRE, model);
  if (echo) return echo as JsonObject[];
  const calls = message.calls.map(({ id, name, arguments: text }) => ({
    type: "tool_use",
    id,
    name: names.toWire(name),
    input: parameters.toWire(name, parseArguments(text)),
  }));
  return [...textBlocks(message.text), ...calls];
}

type Result = Extract<Message, { role: "results" }>["results"][number];

function resultBlock({ callId, content, isError }: Result): JsonObject {
  return { type: "tool_result", tool_use_id: callId, content, ...(isError ? { is_error: true } : {}) };
}

/** Blocks without any visible character are refused. */
function textBlocks(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}
