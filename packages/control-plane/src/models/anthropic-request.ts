import type { JsonObject } from "@patchbay/protocol";
import type { Message, ModelFunction, ModelRequest } from "../ports/model-provider.ts";
import { anthropicCapabilities } from "./capabilities.ts";
import { fittingEcho, parseArguments, settleTemperature, userText } from "./neutral-request.ts";
import { takesStrict } from "./strict-schema.ts";
import { wireNames, type WireNames } from "./wire-names.ts";
import { wireParameters, type WireParameters } from "./wire-parameters.ts";

/** Tags the blocks this wire's turns are echoed with. */
export const ANTHROPIC_WIRE = "anthropic";

/** The last version of the API that takes a temperature, for the models that still do. */
const VERSION_WITH_TEMPERATURE = "2023-06-01";

/** A prompt is cached up to here. A request has four at most: the one at its top level moves with the last block. */
const BREAKPOINT = { cache_control: { type: "ephemeral" } };

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
  const body: JsonObject = { model, max_tokens: maxTokens, stream: true, ...BREAKPOINT };
  // With the functions before it, the same for all threads of a role.
  if (system !== "") body["system"] = [{ type: "text", text: system, ...BREAKPOINT }];
  const list = messages(request, names, parameters);
  // Thinking and a temperature exclude each other; who asked for a temperature gets it.
  if (temperature !== undefined) body["temperature"] = temperature;
  else if (can.thinking !== "budget" || !isUnthought(list)) Object.assign(body, thinking(can.thinking, maxTokens));
  if (functions.length > 0) {
    const declared = tools(functions, names);
    const strict = can.strict && takesStrict(request.respond);
    body["tools"] = strict ? [...declared.slice(0, -1), { ...declared.at(-1), strict }] : declared;
    body["tool_choice"] = choiceOf(request, names, "thinking" in body);
  }
  body["messages"] = list as unknown as JsonObject[];
  const headers: Record<string, string> =
    temperature === undefined ? {} : { "anthropic-version": VERSION_WITH_TEMPERATURE };
  return { body, headers, warnings, names, parameters };
}

/** A request that asks for thinking and forces a call is refused. */
function choiceOf({ toolChoice, respond }: ModelRequest, names: WireNames, thinks: boolean): JsonObject {
  if (toolChoice !== "respond") return { type: toolChoice };
  return respond && !thinks ? { type: "tool", name: names.toWire(respond.name) } : { type: "auto" };
}

/** Whether the model goes on from calls that came without thinking, as another model's do: it then refuses a budget to think. */
function isUnthought(list: readonly AnthropicMessage[]): boolean {
  const query = list.findLastIndex(({ role, content }) => role === "user" && content[0]?.["type"] !== "tool_result");
  const first = list[query + 1]?.content[0];
  return first !== undefined && first["type"] !== "thinking" && first["type"] !== "redacted_thinking";
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

function messages(request: ModelRequest, names: WireNames, parameters: WireParameters): AnthropicMessage[] {
  const { messages, model } = request;
  const cachedEnds = endsToCache(request);
  const list: AnthropicMessage[] = [];
  const add = (role: AnthropicMessage["role"], content: JsonObject[]) => {
    if (content.length === 0) return;
    const last = list.at(-1);
    // Results and the text after them are one message, results first.
    if (role === "user" && last?.role === "user") last.content.push(...content);
    else list.push({ role, content });
  };
  for (const [at, message] of messages.entries()) {
    if (message.role === "user") add("user", textBlocks(userText(message)));
    else if (message.role === "assistant") add("assistant", assistantBlocks(message, model, names, parameters));
    else add("user", message.results.map(resultBlock));
    if (cachedEnds.has(at)) markEnd(list);
  }
  return list;
}

/**
 * Messages whose last block is a breakpoint: the end of the earlier runs, which the thread's next query begins with, and the end
 * of what an earlier request wrote to the cache. From a breakpoint at most 20 blocks are looked back to find that, and eleven
 * calls of one turn are 22.
 */
function endsToCache({ messages, earlierMessages = 0 }: ModelRequest): Set<number> {
  const lastTurn = messages.findLastIndex(({ role }) => role === "assistant");
  const newestRun = messages.slice(0, earlierMessages).findLastIndex(({ role }) => role === "user");
  const written = (lastTurn > earlierMessages ? lastTurn : newestRun) - 1;
  return new Set([earlierMessages - 1, written].filter((at) => !hasEcho(messages[at])));
}

/** Blocks that are echoed must stay as they are. */
const hasEcho = (message: Message | undefined): boolean => message?.role === "assistant" && message.echo !== undefined;

function markEnd(list: AnthropicMessage[]): void {
  const message = list.at(-1);
  const block = message?.content.at(-1);
  if (message && block) message.content = [...message.content.slice(0, -1), { ...block, ...BREAKPOINT }];
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
