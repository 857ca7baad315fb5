import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { argumentsFault, functionsFault, openaiErrorBody, REASONING } from "./openai-faults.ts";
import type { ScriptedTurn, SummaryMessage } from "./script.ts";
import {
  completeSummary,
  list,
  message,
  pieces,
  sse,
  unknownMember,
  unpaired,
  USAGE,
  wireName,
  type WireFormat,
  str,
} from "./wire-format.ts";

const MEMBERS = [
  "model",
  "messages",
  "tools",
  "tool_choice",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "reasoning_effort",
  "stream",
  "stream_options",
  "prompt_cache_key",
];

export const chatWire: WireFormat = {
  path: /^\/v1\/chat\/completions$/,
  key: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? "")?.[1],

  summarise({ body }) {
    const all = list(body["messages"]);
    const system = all.find(({ role }) => role === "system" || role === "developer");
    return completeSummary({
      model: str(body["model"]),
      system: str(system?.["content"] ?? ""),
      functions: functionsOf(body).map(({ name }) => str(name)),
      messages: readMessages(all),
      toolChoice: body["tool_choice"] === "none" ? "none" : "auto",
      maxTokens: Number(body["max_tokens"] ?? body["max_completion_tokens"]),
      ...(typeof body["temperature"] === "number" ? { temperature: body["temperature"] } : {}),
    });
  },

  objection({ body }) {
    const unknown = unknownMember(body, MEMBERS);
    if (unknown) return `Unrecognized request argument supplied: ${unknown}`;
    if (REASONING.test(str(body["model"]))) {
      if (body["max_tokens"] !== undefined)
        return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
      if (body["temperature"] !== undefined && body["reasoning_effort"] !== "none")
        return "Unsupported value: 'temperature' does not support this value with this model.";
    }
    const calls = list(body["messages"]).flatMap((one) => list(one["tool_calls"]));
    const broken = argumentsFault(calls.map((call) => call["function"]).filter(isJsonObject));
    if (broken) return broken;
    const lost = unpaired(readMessages(list(body["messages"])));
    if (lost)
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': ${lost}`;
    return functionsFault(functionsOf(body));
  },

  answer(turn, request) {
    const base = { id: `chatcmpl-${randomUUID()}`, object: "chat.completion.chunk", created: 1, model: request.model };
    const chunk = (delta: JsonObject, finish_reason: string | null = null) =>
      sse({ ...base, choices: [{ index: 0, delta, finish_reason }], usage: null });
    const { input, cachedInput, cacheWriteInput, output, reasoning } = { ...USAGE, ...turn.usage };
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cachedInput, cache_write_tokens: cacheWriteInput },
      completion_tokens_details: { reasoning_tokens: reasoning },
    };
    return {
      body: [
        chunk({ role: "assistant", content: "" }),
        ...deltas(turn, request.functions).map((delta) => chunk(delta)),
      ],
      terminal: [chunk({}, finishReason(turn)), sse({ ...base, choices: [], usage }), "data: [DONE]\n\n"],
    };
  },

  errorBody: openaiErrorBody,

  errorEvent: ({ code = "server_error", message = "The server had an error" }) =>
    sse({ error: { message, type: "server_error", code, param: null } }),
};

function functionsOf(body: JsonObject): JsonObject[] {
  return list(body["tools"]).map((tool) => (isJsonObject(tool["function"]) ? tool["function"] : {}));
}

function finishReason({ stop, calls }: ScriptedTurn): string {
  if (stop === "length" || stop === "context_window") return "length";
  return calls && stop === undefined ? "tool_calls" : "stop";
}

function deltas({ thoughts = [], text, calls = [], stop }: ScriptedTurn, functions: string[]): JsonObject[] {
  const textMember = stop === "refused" ? "refusal" : "content";
  const callDeltas = calls.flatMap(({ name, arguments: args }, index) => {
    const json = str(args);
    const sent = stop === "length" && index === calls.length - 1 ? json.slice(0, json.length / 2) : json;
    const begin = { index, id: `call_${randomUUID()}`, type: "function" };
    return [
      { tool_calls: [{ ...begin, function: { name: wireName(name, functions), arguments: "" } }] },
      ...pieces(sent).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ];
  });
  return [
    ...pieces(thoughts.join("\n")).map((piece) => ({ reasoning_content: piece })),
    ...pieces(text ?? "").map((piece) => ({ [textMember]: piece })),
    ...callDeltas,
  ];
}

function readMessages(all: JsonObject[]): SummaryMessage[] {
  const messages: SummaryMessage[] = [];
  const names = new Map<string, string>();
  for (const { role, content, tool_calls: toolCalls, tool_call_id: callId } of all) {
    const text = typeof content === "string" ? content : "";
    if (role === "user") messages.push(message("user", { text }));
    else if (role === "assistant") {
      const calls = list(toolCalls).map(({ id, function: called }) => {
        const { name = "", arguments: args = "" } = isJsonObject(called) ? called : {};
        names.set(str(id), str(name));
        return { id: str(id), name: str(name), arguments: args };
      });
      messages.push(message("assistant", { text, calls }));
    } else if (role === "tool") {
      const result = { callId: str(callId), name: names.get(str(callId)) ?? "", content: text };
      const last = messages.at(-1);
      if (last?.role === "results") last.results.push(result);
      else messages.push(message("results", { results: [result] }));
    }
  }
  return messages;
}
