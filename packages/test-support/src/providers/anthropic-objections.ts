import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { signatureOf } from "./signature.ts";
import { list, unknownMember, type Incoming, type Issued, str } from "./wire-format.ts";

const MEMBERS = [
  "model",
  "max_tokens",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "temperature",
  "cache_control",
  "stream",
  "output_config",
  "metadata",
];

const NEWEST = /^claude-((opus|sonnet|haiku)-[5-9]|fable|mythos)/;
const BEFORE_ADAPTIVE = /^claude-(3|(opus|sonnet|haiku)-4-[015])/;

/** The first reason for which the Messages API rejects a request, for mistakes that our client could make. */
export function anthropicObjection({ body, headers }: Incoming, issued: Issued): string | undefined {
  const unknown = unknownMember(body, MEMBERS);
  if (unknown) return `${unknown}: Extra inputs are not permitted`;
  if (typeof body["max_tokens"] !== "number") return "max_tokens: Field required";
  const breakpoints = JSON.stringify(body).split('"cache_control":').length - 1;
  if (breakpoints > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${breakpoints}.`;
  const { thinking = null } = body;
  const content = settingsObjection(body, String(headers["anthropic-version"])) ?? toolsObjection(list(body["tools"]));
  return (
    content ??
    messagesObjection(list(body["messages"]), issued, isJsonObject(thinking) && thinking["type"] === "enabled")
  );
}

function settingsObjection(body: JsonObject, version: string): string | undefined {
  const model = str(body["model"]);
  const thinking = isJsonObject(body["thinking"]) ? body["thinking"] : undefined;
  if (body["temperature"] !== undefined) {
    if (NEWEST.test(model) || version > "2026") return "temperature: Extra inputs are not permitted";
    if (thinking) return "`temperature` may only be set to 1 when thinking is enabled";
    if (Number(body["temperature"]) > 1) return "temperature: range: 0..1";
  }
  if (thinking?.["type"] === "enabled") {
    if (NEWEST.test(model)) return '"thinking.type.enabled" is not supported for this model';
    const budget = Number(thinking["budget_tokens"]);
    if (!(budget >= 1024 && budget < Number(body["max_tokens"]))) return "thinking.budget_tokens: out of range";
  }
  if (thinking?.["type"] === "adaptive" && BEFORE_ADAPTIVE.test(model))
    return "adaptive thinking is not supported on this model";
  const choice = isJsonObject(body["tool_choice"]) ? body["tool_choice"]["type"] : "auto";
  if (choice !== "auto" && choice !== "none") return "tool_choice: forced tool use is not supported for this model";
  return undefined;
}

function propertyKeys(schema: JsonValue): string[] {
  if (Array.isArray(schema)) return schema.flatMap(propertyKeys);
  if (!isJsonObject(schema)) return [];
  const own = isJsonObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  return [...own, ...Object.values(schema).flatMap(propertyKeys)];
}

function toolsObjection(tools: JsonObject[]): string | undefined {
  if (tools.filter(({ strict }) => strict === true).length > 20)
    return "Too many strict tools (21). The maximum number of strict tools supported is 20.";
  const names = new Set<string>();
  for (const [at, { name, input_schema: schema }] of tools.entries()) {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(str(name)))
      return `tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
    if (names.has(str(name))) return "tools: Tool names must be unique.";
    names.add(str(name));
    const key = propertyKeys(schema ?? null).find((one) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(one));
    if (key !== undefined)
      return `tools.${at}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$': ${key}`;
    if (!isJsonObject(schema) || schema["type"] !== "object")
      return `tools.${at}.custom.input_schema.type: Input should be 'object'`;
    if (["oneOf", "anyOf", "allOf"].some((member) => member in schema))
      return `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
  }
  return undefined;
}

function messagesObjection(messages: JsonObject[], issued: Issued, thinks: boolean): string | undefined {
  if (messages[0]?.["role"] !== "user") return "messages: first message must use the user role";
  const last = messages.at(-1);
  if (last?.["role"] === "assistant" && !list(last["content"]).some(({ type }) => type === "server_tool_use"))
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  const loop = messages.findLastIndex(
    ({ role, content }) => role === "user" && !list(content).some(({ type }) => type === "tool_result"),
  );
  const begins = list(messages[loop + 1]?.["content"])[0]?.["type"] ?? "thinking";
  if (thinks && begins !== "thinking" && begins !== "redacted_thinking")
    return `messages.${loop + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${str(begins)}\`.`;
  for (const [at, { role, content }] of messages.entries()) {
    const blocks = list(content);
    if (blocks.length === 0) return `messages.${at}: all messages must have non-empty content`;
    if (blocks.some(({ type, text }) => type === "text" && str(text).trim() === ""))
      return `messages.${at}: text content blocks must contain non-whitespace text`;
    const fault =
      role === "assistant"
        ? (thinkingObjection(blocks, at, at > loop, issued) ??
          pairingObjection(blocks, list(messages[at + 1]?.["content"]), at))
        : orderObjection(blocks, list(messages[at - 1]?.["content"]), at);
    if (fault) return fault;
  }
  return undefined;
}

function thinkingObjection(blocks: JsonObject[], at: number, inLoop: boolean, issued: Issued): string | undefined {
  if (blocks.some((block) => str(block["type"]).endsWith("thinking") && block["cache_control"] !== undefined))
    return `messages.${at}.content: cache_control is not permitted on thinking blocks`;
  const forged = blocks.find(
    ({ type, thinking, signature }) => type === "thinking" && signature !== signatureOf(str(thinking)),
  );
  if (forged) return `messages.${at}.content: Invalid \`signature\` in \`thinking\` block`;
  const use = blocks.find(({ type }) => type === "tool_use");
  const original = use && issued.get(str(use["id"]));
  if (inLoop && use && !original && blocks.some(({ type }) => type === "thinking"))
    return `messages.${at}.content: Invalid \`signature\` in \`thinking\` block`;
  if (inLoop && original?.includes('"type":"thinking"') && original !== JSON.stringify(blocks))
    return `messages.${at}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified`;
  return undefined;
}

function pairingObjection(blocks: JsonObject[], next: JsonObject[], at: number): string | undefined {
  const answered = next.filter(({ type }) => type === "tool_result").map((block) => block["tool_use_id"]);
  const missing = blocks.find(({ type, id }) => type === "tool_use" && !answered.includes(id ?? null));
  return (
    missing &&
    `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${str(missing["id"])}`
  );
}

function orderObjection(blocks: JsonObject[], before: JsonObject[], at: number): string | undefined {
  const results = blocks.filter(({ type }) => type === "tool_result");
  const ids = before.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  if (results.some((block) => !ids.includes(block["tool_use_id"])))
    return `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks`;
  if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
    return `messages.${at}: \`tool_result\` blocks must come first`;
  return undefined;
}
