import type { JsonValue } from "@patchbay/protocol";
import type { Message, ModelFunction, ModelRequest } from "../ports/model-provider.ts";

/**
 * For upper estimates: a token of most texts has more than three bytes. Characters would not do: a character of Chinese or Japanese
 * is a token by itself. Digits, ids and base64 have fewer: a run learns that from its own turns.
 */
export const BYTES_PER_TOKEN = 3;

/** What wires and chat templates put around each message, call, result and function, with the ids of calls. */
const FRAME_TOKENS = 16;
/** Claude adds up to 530 tokens of its own to a request with tools (its page on tool pricing), and newer tokenizers 30 % more. */
const TOOL_PROMPT_TOKENS = 700;

/** An upper estimate of the input of a request. */
export function promptTokens(request: Pick<ModelRequest, "system" | "functions" | "messages">): number {
  const { messages } = request;
  const frames = sum(messages.map(framesOf)) * FRAME_TOKENS;
  return fixedTokens(request) + frames + Math.ceil(sizeOf(messages) / BYTES_PER_TOKEN);
}

function framesOf(message: Message): number {
  if (message.role === "user") return 1;
  return 1 + (message.role === "results" ? message.results : message.calls).length;
}

/** The part of the estimate that is the same for every turn of a run. */
export function fixedTokens({ system, functions }: Pick<ModelRequest, "system" | "functions">): number {
  const prompt = functions.length > 0 ? TOOL_PROMPT_TOKENS + functions.length * FRAME_TOKENS : 0;
  return prompt + Math.ceil((bytes(system) + sum(functions.map(bytesOfFunction))) / BYTES_PER_TOKEN);
}

const bytesOfFunction = ({ name, description, inputSchema }: ModelFunction): number =>
  bytes(name) + bytes(description) + sizeOfJson(inputSchema);

/** Bytes of what a model reads of messages. */
export function sizeOf(messages: readonly Message[]): number {
  return sum(messages.map(bytesOf));
}

function bytesOf(message: Message): number {
  if (message.role === "user") return bytes(message.text) + bytes(message.preface ?? "");
  if (message.role === "results") return sum(message.results.map(({ content }) => bytes(content)));
  const { text, calls, echo } = message;
  const plain = bytes(text) + sum(calls.map((call) => bytes(call.name) + bytes(call.arguments)));
  // Reasoning goes back only in the provider's own blocks, and is billed as input.
  return Math.max(plain, sizeOfJson(echo?.blocks ?? null));
}

const jsonSizes = new WeakMap<object, number>();

/** Bytes of the JSON of an object or list; 0 for other values. */
function sizeOfJson(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let size = jsonSizes.get(value);
  if (size === undefined) jsonSizes.set(value, (size = bytes(JSON.stringify(value))));
  return size;
}

const bytes = (text: string): number => Buffer.byteLength(text);

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
