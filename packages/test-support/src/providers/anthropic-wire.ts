import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { anthropicObjection } from "./anthropic-objections.ts";
import type { ScriptedTurn, SummaryMessage } from "./script.ts";
import { signatureOf } from "./signature.ts";
import { completeSummary, list, message, pieces, sse, USAGE, wireName, type WireFormat, str } from "./wire-format.ts";

export const anthropicWire: WireFormat = {
  path: /^\/v1\/messages$/,
  key: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? "")?.[1],

  summarise({ body }) {
    const messages = list(body["messages"]).flatMap(readMessage);
    const names = new Map(messages.flatMap(({ calls }) => calls.map(({ id, name }) => [id, name])));
    for (const result of messages.flatMap(({ results }) => results)) result.name = names.get(result.callId) ?? "";
    return completeSummary({
      model: str(body["model"]),
      system: list(body["system"])
        .map(({ text }) => str(text))
        .join("\n"),
      functions: list(body["tools"]).map((tool) => str(tool["name"])),
      messages,
      toolChoice: isJsonObject(body["tool_choice"]) && body["tool_choice"]["type"] === "none" ? "none" : "auto",
      maxTokens: Number(body["max_tokens"]),
      ...(typeof body["temperature"] === "number" ? { temperature: body["temperature"] } : {}),
    });
  },

  objection: anthropicObjection,

  answer(turn, { functions, model }, issued) {
    const drafted = draft(turn, functions);
    const content = JSON.stringify(drafted.map(({ block }) => block));
    for (const { block } of drafted) if (block["type"] === "tool_use") issued.set(str(block["id"]), content);
    const last = drafted.at(-1);
    if (turn.stop === "length" && last) last.json = last.json.slice(0, last.json.length / 2);
    const { input, cachedInput, cacheWriteInput, output, reasoning } = { ...USAGE, ...turn.usage };
    const usage = {
      input_tokens: input - cachedInput - cacheWriteInput,
      cache_creation_input_tokens: cacheWriteInput,
      cache_read_input_tokens: cachedInput,
      output_tokens: 1,
    };
    const start = {
      id: `msg_${randomUUID()}`,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
    };
    return {
      body: [
        event({ type: "message_start", message: { ...start, usage } }),
        event({ type: "ping" }),
        ...drafted.flatMap(blockEvents),
      ],
      terminal: [
        event({
          type: "message_delta",
          delta: { stop_reason: stopReason(turn), stop_sequence: null },
          usage: { ...usage, output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } },
        }),
        event({ type: "message_stop" }),
      ],
    };
  },

  errorBody: ({ status, code, message = "scripted" }) => ({
    type: "error",
    error: {
      type: ERROR_TYPES[status] ?? "invalid_request_error",
      message,
      details: code ? { error_code: code } : null,
    },
    request_id: "req_scripted",
  }),

  errorEvent: ({ code = "overloaded_error", message = "Overloaded" }) =>
    event({ type: "error", error: { type: code, message, details: null } }),
};

const ERROR_TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function event(data: JsonObject): string {
  return sse(data, str(data["type"]));
}

function stopReason({ stop, calls }: ScriptedTurn): string {
  const reasons = {
    length: "max_tokens",
    refused: "refusal",
    context_window: "model_context_window_exceeded",
    pause: "pause_turn",
  };
  if (stop && stop in reasons) return reasons[stop as keyof typeof reasons];
  return calls && stop === undefined ? "tool_use" : "end_turn";
}

interface Drafted {
  block: JsonObject;
  /** The arguments of a call as text of the stream. */
  json: string;
}

/** The blocks of a turn that the client must send back: signed thinking, and one redacted block. */
function draft({ thoughts = [], text, calls = [] }: ScriptedTurn, functions: string[]): Drafted[] {
  const plain = [
    ...thoughts.map((thinking) => ({ type: "thinking", thinking, signature: signatureOf(thinking) })),
    ...(thoughts.length > 0 ? [{ type: "redacted_thinking", data: signatureOf("redacted") }] : []),
    ...(text === undefined ? [] : [{ type: "text", text }]),
  ];
  const uses = calls.map(({ name, arguments: args }) => ({
    block: {
      type: "tool_use",
      id: `toolu_${randomUUID()}`,
      name: wireName(name, functions),
      input: isJsonObject(args) ? args : {},
    },
    json: str(args),
  }));
  return [...plain.map((block) => ({ block, json: "" })), ...uses];
}

function blockEvents({ block, json }: Drafted, index: number): string[] {
  const empty: Record<string, JsonObject> = {
    thinking: { type: "thinking", thinking: "", signature: "" },
    text: { type: "text", text: "" },
    tool_use: { ...block, input: {} },
  };
  return [
    event({ type: "content_block_start", index, content_block: empty[str(block["type"])] ?? block }),
    ...deltas(block, json).map((delta) => event({ type: "content_block_delta", index, delta })),
    event({ type: "content_block_stop", index }),
  ];
}

function deltas(block: JsonObject, json: string): JsonObject[] {
  if (block["type"] === "text") return pieces(str(block["text"])).map((text) => ({ type: "text_delta", text }));
  if (block["type"] === "tool_use")
    return ["", ...pieces(json)].map((partial_json) => ({ type: "input_json_delta", partial_json }));
  if (block["type"] !== "thinking") return [];
  return [
    ...pieces(str(block["thinking"])).map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature: block["signature"] ?? "" },
  ];
}

function readMessage({ role, content }: JsonObject): SummaryMessage[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
  const text = blocks
    .filter(({ type }) => type === "text")
    .map((block) => str(block["text"]))
    .join("");
  if (role === "assistant") {
    const calls = blocks
      .filter(({ type }) => type === "tool_use")
      .map((block) => ({ id: str(block["id"]), name: str(block["name"]), arguments: block["input"] ?? null }));
    return [message("assistant", { text, calls })];
  }
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block) => ({ callId: str(block["tool_use_id"]), name: "", content: str(block["content"]) }));
  return [
    ...(results.length > 0 ? [message("results", { results })] : []),
    ...(text === "" ? [] : [message("user", { text })]),
  ];
}
