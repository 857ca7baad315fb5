import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { openaiErrorBody } from "./openai-faults.ts";
import { responsesObjection } from "./openai-responses-objections.ts";
import type { RequestSummary, ScriptedTurn, SummaryMessage } from "./script.ts";
import { signatureOf } from "./signature.ts";
import { completeSummary, list, message, pieces, sse, USAGE, wireName, type WireFormat, str } from "./wire-format.ts";

export const responsesWire: WireFormat = {
  path: /^\/v1\/responses$/,
  key: ({ authorization }) => /^Bearer (.+)$/.exec(authorization ?? "")?.[1],

  summarise({ body }) {
    return completeSummary({
      model: str(body["model"]),
      system: str(body["instructions"] ?? ""),
      functions: list(body["tools"]).map((tool) => str(tool["name"])),
      messages: readItems(list(body["input"])),
      toolChoice: body["tool_choice"] === "none" ? "none" : "auto",
      maxTokens: Number(body["max_output_tokens"]),
      ...(typeof body["temperature"] === "number" ? { temperature: body["temperature"] } : {}),
    });
  },

  objection: responsesObjection,

  answer(turn, request, issued) {
    const items = itemsOf(turn, request);
    const reasoning = items.find(({ type }) => type === "reasoning");
    for (const { type, call_id } of items)
      if (type === "function_call" && reasoning) issued.set(str(call_id), JSON.stringify(reasoning));
    const { input, cachedInput, cacheWriteInput, output, reasoning: thought } = { ...USAGE, ...turn.usage };
    const usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cachedInput, cache_write_tokens: cacheWriteInput },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: thought },
      total_tokens: input + output,
    };
    const response = { id: `resp_${randomUUID()}`, object: "response", model: request.model, error: null };
    const number = numbering();
    const created = { ...response, status: "in_progress", output: [], usage: null };
    const body = [
      number({ type: "response.created", response: created }),
      number({ type: "response.in_progress", response: created }),
      ...items.flatMap((item, output_index) => itemEvents(item, output_index).map(number)),
    ];
    return { body, terminal: [number({ ...ending(turn, { ...response, output: items, usage }) })] };
  },

  errorBody: openaiErrorBody,

  errorEvent: ({ code = "server_error", message = "The server had an error" }) =>
    sse({ type: "error", sequence_number: 99, code, message, param: null }, "error"),
};

function numbering(): (event: JsonObject) => string {
  let sequence_number = 0;
  return (event) => sse({ ...event, sequence_number: sequence_number++ }, str(event["type"]));
}

function ending({ stop }: ScriptedTurn, response: JsonObject): JsonObject {
  if (stop === "length") return incomplete(response, "max_output_tokens");
  if (stop === "context_window")
    return {
      type: "response.failed",
      response: { ...response, status: "failed", error: { code: "context_length_exceeded", message: "too long" } },
    };
  return { type: "response.completed", response: { ...response, status: "completed", incomplete_details: null } };
}

function incomplete(response: JsonObject, reason: string): JsonObject {
  return {
    type: "response.incomplete",
    response: { ...response, status: "incomplete", incomplete_details: { reason } },
  };
}

function itemsOf(
  { thoughts = [], text, calls = [], stop }: ScriptedTurn,
  { functions, model }: RequestSummary,
): JsonObject[] {
  const items: JsonObject[] = [];
  if (thoughts.length > 0 && !model.startsWith("gpt-4"))
    items.push({
      id: `rs_${randomUUID()}`,
      type: "reasoning",
      summary: thoughts.map((thought) => ({ type: "summary_text", text: thought })),
      encrypted_content: signatureOf(thoughts.join("\n")),
    });
  if (text !== undefined) {
    const part =
      stop === "refused" ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] };
    items.push({ id: `msg_${randomUUID()}`, type: "message", role: "assistant", status: "completed", content: [part] });
  }
  for (const [at, { name, arguments: args }] of calls.entries()) {
    const json = str(args);
    const cut = stop === "length" && at === calls.length - 1;
    items.push({
      id: `fc_${randomUUID()}`,
      type: "function_call",
      status: cut ? "incomplete" : "completed",
      call_id: `call_${randomUUID()}`,
      name: wireName(name, functions),
      arguments: cut ? json.slice(0, json.length / 2) : json,
    });
  }
  return items;
}

function itemEvents(item: JsonObject, output_index: number): JsonObject[] {
  const at = { output_index, item_id: item["id"] ?? "" };
  const added = { type: "response.output_item.added", output_index };
  const done = { type: "response.output_item.done", output_index, item };
  const delta = (type: string, text: string, more: JsonObject = {}) =>
    pieces(text).map((delta) => ({ type, ...at, ...more, delta }));
  if (item["type"] === "reasoning") {
    const deltas = list(item["summary"]).flatMap(({ text }, summary_index) =>
      delta("response.reasoning_summary_text.delta", str(text), { summary_index }),
    );
    return [{ ...added, item: { ...item, summary: [], encrypted_content: "partial" } }, ...deltas, done];
  }
  if (item["type"] === "function_call") {
    const text = str(item["arguments"]);
    const finished = { type: "response.function_call_arguments.done", ...at, arguments: text };
    const deltas = delta("response.function_call_arguments.delta", text);
    return [{ ...added, item: { ...item, arguments: "", status: "in_progress" } }, ...deltas, finished, done];
  }
  const [part = {}] = list(item["content"]);
  const refuses = part["type"] === "refusal";
  const type = refuses ? "response.refusal.delta" : "response.output_text.delta";
  const text = str(part[refuses ? "refusal" : "text"]);
  return [{ ...added, item: { ...item, content: [] } }, ...delta(type, text, { content_index: 0 }), done];
}

/** Items in order, grouped into turns. */
function readItems(items: JsonObject[]): SummaryMessage[] {
  const messages: SummaryMessage[] = [];
  const lastOf = (role: SummaryMessage["role"]): SummaryMessage => {
    const last = messages.at(-1);
    if (last?.role === role) return last;
    const begun = message(role, {});
    messages.push(begun);
    return begun;
  };
  const names = new Map<string, string>();
  for (const item of items) {
    if (item["type"] === "function_call") {
      names.set(str(item["call_id"]), str(item["name"]));
      lastOf("assistant").calls.push({
        id: str(item["call_id"]),
        name: str(item["name"]),
        arguments: item["arguments"] ?? "",
      });
    } else if (item["type"] === "function_call_output") {
      const callId = str(item["call_id"]);
      lastOf("results").results.push({ callId, name: names.get(callId) ?? "", content: str(item["output"]) });
    } else if (item["type"] === "reasoning") lastOf("assistant");
    else if (item["role"] === "assistant") lastOf("assistant").text += textOf(item);
    else messages.push(message("user", { text: textOf(item) }));
  }
  return messages;
}

function textOf({ content }: JsonObject): string {
  if (typeof content === "string") return content;
  return list(content)
    .filter(isJsonObject)
    .map(({ text, refusal }) => str(text ?? refusal ?? ""))
    .join("");
}
