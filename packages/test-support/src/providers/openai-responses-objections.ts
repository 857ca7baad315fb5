import type { JsonObject } from "@patchbay/kit";
import { argumentsFault, functionsFault, REASONING } from "./openai-faults.ts";
import { list, unknownMember, type Incoming, type Issued, str } from "./wire-format.ts";

const MEMBERS = [
  "model",
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_output_tokens",
  "reasoning",
  "include",
  "store",
  "stream",
  "temperature",
  "prompt_cache_key",
];

/** The first reason for which the Responses API rejects a request, for mistakes that our client could make. */
export function responsesObjection({ body }: Incoming, issued: Issued): string | undefined {
  const unknown = unknownMember(body, MEMBERS);
  if (unknown) return `Unknown parameter: '${unknown}'.`;
  const reasons = REASONING.test(str(body["model"]));
  if (reasons && body["temperature"] !== undefined)
    return "Unsupported parameter: 'temperature' is not supported with this model.";
  if (!reasons && body["reasoning"] !== undefined)
    return "Unsupported parameter: 'reasoning' is not supported with this model.";
  if (!reasons && body["include"] !== undefined) return "Encrypted content is not supported with this model.";
  if (Number(body["max_output_tokens"]) < 16) return "Invalid 'max_output_tokens': integer below minimum value.";
  const tools = list(body["tools"]);
  if (tools.some(({ strict }) => strict === undefined)) return "Missing required parameter: 'tools[0].strict'.";
  return functionsFault(tools) ?? inputFault(list(body["input"]), issued);
}

function inputFault(items: JsonObject[], issued: Issued): string | undefined {
  const loop = items.findLastIndex(({ role }) => role === "user");
  const outputs = items.filter(({ type }) => type === "function_call_output").map((item) => item["call_id"]);
  const calls = items.filter(({ type }) => type === "function_call");
  const broken = argumentsFault(calls);
  if (broken) return broken;
  for (const [at, item] of items.entries()) {
    const id = item["call_id"] ?? null;
    if (item["type"] === "function_call") {
      if (!outputs.includes(id)) return `No tool output found for function call ${str(id)}.`;
      const reasoning = issued.get(str(id));
      if (at > loop && reasoning && !items.some((other) => JSON.stringify(other) === reasoning))
        return `Item '${str(item["id"])}' of type 'function_call' was provided without its required 'reasoning' item.`;
    }
    if (item["type"] === "function_call_output" && !calls.some((call) => call["call_id"] === id))
      return `No tool call found for function call output with call_id ${str(id)}.`;
    if (item["type"] === "reasoning") {
      const next = items[at + 1];
      if (!next || (next["type"] !== "function_call" && next["role"] !== "assistant" && next["type"] !== "reasoning"))
        return `Item '${str(item["id"])}' of type 'reasoning' was provided without its required following item.`;
      const known = at < loop || issued.values().some((reasoning) => reasoning === JSON.stringify(item));
      if (item["encrypted_content"] === "partial" || !known) return "The encrypted content could not be verified.";
    }
  }
  return undefined;
}
