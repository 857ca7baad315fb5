import type { Anthropic } from "@anthropic-ai/sdk";
import {
  type Message,
  type ModelFunction,
  type ModelProvider,
  type ModelRequest,
} from "@patchbay/engine/ports/model-provider";
import { type Account, headersOf, notInstalled } from "./account.ts";
import { ANTHROPIC_WIRE, anthropicAccumulator, type AnthropicEvent } from "./anthropic-accumulator.ts";
import { createProviderFetch, usableKey } from "./provider-fetch.ts";
import type { ServerProfile } from "./profiles.ts";
import { wireProvider } from "./turn-stream.ts";
import { type JsonObject, oncePer, present } from "@patchbay/kit";
import { anthropicCapabilities } from "./capabilities.ts";
import { fittingEcho, parseArguments, settleTemperature, userText } from "./neutral-request.ts";
import { settleReasoning } from "./reasoning.ts";
import { strictFault, strictTogether } from "./strict-schema.ts";
import { withWireIds } from "./wire-ids.ts";
import { wireNames, type WireNames } from "./wire-names.ts";
import { wireParameters } from "./wire-parameters.ts";

type Client = { messages: Pick<Anthropic["messages"], "create"> };

const OWN = "https://api.anthropic.com";

/** Claude over the Messages API: Anthropic's own, and those of Bedrock and Vertex. */
export function createAnthropic(account: Account, profile: ServerProfile): ModelProvider {
  let client: Promise<Client> | undefined;
  const connect = () => (client ??= connectTo(account));
  const isOwn = account.auth === undefined && (account.baseUrl ?? OWN) === OWN;

  return wireProvider<AnthropicEvent>("anthropic", (request) => {
    const { body, headers, names, parameters, warnings } = anthropicRequest(request, { isOwn });
    const send = profile.adapt(async (fitting, signal) => {
      const { messages } = await connect();
      // This package writes the body itself, to send members that the types no longer have (temperature).
      const params = fitting as unknown as Anthropic.MessageCreateParamsStreaming;
      return messages.create(params, { signal, headers }).asResponse();
    });
    return {
      accumulator: anthropicAccumulator({ model: request.model, names, parameters, warnings }),
      open: (signal) => send(body, signal),
    };
  });
}

async function connectTo(account: Account): Promise<Client> {
  const { apiKey, auth, baseUrl, region = "", project = "", keyFile, apiVersion } = account;
  const version = apiVersion === undefined ? {} : { "anthropic-version": apiVersion };
  const defaultHeaders = { ...version, ...headersOf("anthropic", account) };
  const options = { maxRetries: 0, logLevel: "off", fetch: createProviderFetch(), defaultHeaders } as const;
  if (auth === "aws") {
    const bedrock = import("@anthropic-ai/bedrock-sdk");
    const { AnthropicBedrock } = await bedrock.catch(notInstalled("aws", "@anthropic-ai/bedrock-sdk"));
    const baseURL = baseUrl ?? `https://bedrock-runtime.${region}.amazonaws.com`;
    return new AnthropicBedrock({ ...options, baseURL, awsRegion: region, apiKey: apiKey ?? null });
  }
  if (auth === "google") {
    const [{ AnthropicVertex }, { GoogleAuth }] = await Promise.all([
      import("@anthropic-ai/vertex-sdk"),
      import("google-auth-library"),
    ]);
    const scopes = "https://www.googleapis.com/auth/cloud-platform";
    const googleAuth = new GoogleAuth({ scopes, ...present({ keyFilename: keyFile }) });
    return new AnthropicVertex({
      ...options,
      ...present({ baseURL: baseUrl }),
      region,
      projectId: project,
      googleAuth,
    });
  }
  const { Anthropic } = await import("@anthropic-ai/sdk");
  // Null: the package would read a token from the environment, and send it along with the key.
  const key = { apiKey: usableKey("anthropic", apiKey ?? ""), authToken: null };
  return new Anthropic({ ...options, ...key, baseURL: baseUrl ?? OWN });
}

/** The last API version that takes a temperature, for the models that still do. */
const VERSION_WITH_TEMPERATURE = "2023-06-01";

/** Marks where a cached prefix ends. A request has at most four; the one at its top level moves with the last block. */
const BREAKPOINT = { cache_control: { type: "ephemeral" } };

interface AnthropicMessage {
  role: "user" | "assistant";
  content: JsonObject[];
}

/** `isOwn`: the request goes to Anthropic itself. Gateways may refuse a request with an unknown member. */
export function anthropicRequest(request: ModelRequest, { isOwn = true }: { isOwn?: boolean } = {}) {
  const { model, system, functions, maxTokens } = request;
  const names = wireNames(functions);
  const parameters = wireParameters(functions);
  const can = anthropicCapabilities(model);
  const { temperature, warnings } = settleTemperature(request, { takes: can.temperature, max: 1 });
  const { level, warnings: ofReasoning } = settleReasoning(request, "anthropic");
  warnings.push(...ofReasoning);
  const body: JsonObject = { model, max_tokens: maxTokens, stream: true, ...BREAKPOINT };
  // The functions precede it, so all threads with this role share the prefix.
  if (system !== "") body["system"] = [{ type: "text", text: system, ...BREAKPOINT }];
  const list = messages(request);
  // Thinking and a temperature exclude each other; an explicit temperature wins.
  if (temperature !== undefined) body["temperature"] = temperature;
  else if (can.thinking !== "budget" || !isUnthought(list))
    Object.assign(body, thinking(can.thinking, maxTokens, level));
  const reasons = level !== undefined && level !== 0 && level !== "disabled";
  if (reasons && temperature !== undefined)
    warnings.push(`The model ${model} takes no temperature while it reasons, so llmConfig.reasoning was not sent.`);
  else if (reasons && !("thinking" in body) && thinking(can.thinking, maxTokens, level)["thinking"] === undefined)
    warnings.push(`llmConfig.maxTokens leaves no room for reasoning: ${model} needs more than 1,024 tokens.`);
  if (functions.length > 0) {
    const strict = can.strict && request.respond && strictFault(request.respond) === undefined;
    const declared = isOwn && can.strict ? ownTools(functions) : tools(functions);
    body["tools"] = strict ? [...declared.slice(0, -1), { ...declared.at(-1), strict }] : declared;
    body["tool_choice"] = choiceOf(request, names, "thinking" in body);
  }
  body["messages"] = list as unknown as JsonObject[];
  const headers: Record<string, string> =
    temperature === undefined ? {} : { "anthropic-version": VERSION_WITH_TEMPERATURE };
  return { body, headers, warnings, names, parameters };
}

/** Claude refuses a request that asks for thinking and forces a call. */
function choiceOf({ toolChoice, respond }: ModelRequest, names: WireNames, thinks: boolean): JsonObject {
  if (toolChoice !== "respond") return { type: toolChoice };
  return respond && !thinks ? { type: "tool", name: names.toWire(respond.name) } : { type: "auto" };
}

/**
 * True if the conversation ends with calls made without thinking, such as another model's: Claude then refuses a
 * thinking budget.
 */
function isUnthought(list: readonly AnthropicMessage[]): boolean {
  const query = list.findLastIndex(({ role, content }) => role === "user" && content[0]?.["type"] !== "tool_result");
  const first = list[query + 1]?.content[0];
  return first !== undefined && first["type"] !== "thinking" && first["type"] !== "redacted_thinking";
}

function thinking(kind: "adaptive" | "budget" | "none", maxTokens: number, level?: string | number): JsonObject {
  if (level === "disabled") return { thinking: { type: "disabled" } };
  // Without `display` the newest models return empty thinking blocks.
  const shown = { thinking: { type: "adaptive", display: "summarized" } };
  if (kind === "adaptive") return level === undefined ? shown : { ...shown, output_config: { effort: level } };
  // The answer needs the rest.
  const most = typeof level === "number" ? Math.min(level, maxTokens * 0.75) : Math.min(4096, maxTokens / 2);
  const budget = Math.floor(most);
  if (kind === "none" || budget < 1024) return {};
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

const tools = oncePer((functions: readonly ModelFunction[]): JsonObject[] => {
  const [names, parameters] = [wireNames(functions), wireParameters(functions)];
  return functions.map((one) => ({
    name: names.toWire(one.name),
    description: one.description,
    input_schema: parameters.schemaOf(one),
  }));
});

/** With the members that gateways may not know. */
const ownTools = oncePer((functions: readonly ModelFunction[]): JsonObject[] => {
  const [parameters, strict] = [wireParameters(functions), strictTogether(functions)];
  return tools(functions).map((tool, i) => {
    const { name, examples = [] } = functions[i]!;
    return {
      ...tool,
      ...(strict.has(functions[i]!) && { strict: true }),
      ...(examples.length > 0 && { input_examples: examples.map((one) => parameters.toWire(name, one)) }),
    };
  });
});

function messages(request: ModelRequest): AnthropicMessage[] {
  const cachedEnds = endsToCache(request);
  const list: AnthropicMessage[] = [];
  const add = (role: AnthropicMessage["role"], content: JsonObject[]) => {
    if (content.length === 0) return;
    const last = list.at(-1);
    // Results and the text after them are one message, results first.
    if (role === "user" && last?.role === "user") last.content.push(...content);
    else list.push({ role, content });
  };
  for (const [at, message] of withWireIds(request, ANTHROPIC_WIRE).entries()) {
    if (message.role === "user") add("user", textBlocks(userText(message)));
    else if (message.role === "assistant") add("assistant", assistantBlocks(message, request));
    else add("user", message.results.map(resultBlock));
    if (cachedEnds.has(at)) markEnd(list);
  }
  return list;
}

/**
 * Messages whose last block is a breakpoint: where the earlier runs end, a prefix that the thread's next query shares,
 * and where an earlier request's cached prefix ends. The lookup goes back at most 20 blocks from a breakpoint, and
 * eleven calls in one turn make 22.
 */
function endsToCache({ messages, earlierMessages = 0 }: ModelRequest): Set<number> {
  const lastTurn = messages.findLastIndex(({ role }) => role === "assistant");
  const newestRun = messages.slice(0, earlierMessages).findLastIndex(({ role }) => role === "user");
  const written = (lastTurn > earlierMessages ? lastTurn : newestRun) - 1;
  return new Set([earlierMessages - 1, written].filter((at) => !hasEcho(messages[at])));
}

/** Echoed blocks must not change. */
const hasEcho = (message: Message | undefined): boolean => message?.role === "assistant" && message.echo !== undefined;

function markEnd(list: AnthropicMessage[]): void {
  const message = list.at(-1);
  const block = message?.content.at(-1);
  if (message && block) message.content = [...message.content.slice(0, -1), { ...block, ...BREAKPOINT }];
}

function assistantBlocks(
  message: Extract<Message, { role: "assistant" }>,
  { model, functions }: ModelRequest,
): JsonObject[] {
  const echo = fittingEcho(message, ANTHROPIC_WIRE, model);
  if (echo) return echo as JsonObject[];
  const [names, parameters] = [wireNames(functions), wireParameters(functions)];
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

/** Claude refuses blocks without a visible character. */
function textBlocks(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}
