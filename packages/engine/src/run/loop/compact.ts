import { LIMITS, type CallOutcome } from "@patchbay/protocol";
import { oncePer, type JsonValue } from "@patchbay/kit";
import type { ChosenModel, Message, ModelFunction, ModelRequest, ModelResult } from "../../ports/model-provider.ts";
import type { RunRequest } from "../../ports/records.ts";
import type { History } from "../../ports/store/run-store.ts";

/**
 * For upper estimates: in most texts a token has more than three bytes. Bytes and not characters, because one Chinese
 * or Japanese character is a token. Tokens in digits, ids and base64 have fewer bytes: `inputRatio` corrects for them
 * after the first turn.
 */
export const BYTES_PER_TOKEN = 3;

/** What wires and chat templates add around each message, call, result and function, call ids included. */
const FRAME_TOKENS = 16;
/** Claude adds up to 530 tokens to a request with tools (its page on tool pricing), and newer tokenizers 30 % more. */
const TOOL_PROMPT_TOKENS = 700;

/** An upper estimate of a request's input tokens, for its reservation and for comparison with its answer's usage. */
export const promptTokens = oncePer((request: Pick<ModelRequest, "system" | "functions" | "messages">): number => {
  const { messages } = request;
  const frames = sum(messages.map(framesOf)) * FRAME_TOKENS;
  return fixedTokens(request) + frames + Math.ceil(sizeOf(messages) / BYTES_PER_TOKEN);
});

/** The parts of that estimate. Their sum is the estimate, but for rounding. */
export function promptParts({ system, functions, messages }: Pick<ModelRequest, "system" | "functions" | "messages">) {
  const tokens = (size: number): number => Math.ceil(size / BYTES_PER_TOKEN);
  return {
    system: tokens(bytes(system)),
    functions: functions.map((one) => FRAME_TOKENS + tokens(bytesOfFunction(one))),
    messages: messages.map((one) => framesOf(one) * FRAME_TOKENS + tokens(bytesOf(one))),
  };
}

function framesOf(message: Message): number {
  if (message.role === "user") return 1;
  return 1 + (message.role === "results" ? message.results : message.calls).length;
}

/** The part of the estimate that is the same for every turn of a run. */
function fixedTokens({ system, functions }: Pick<ModelRequest, "system" | "functions">): number {
  const prompt = functions.length > 0 ? TOOL_PROMPT_TOKENS + functions.length * FRAME_TOKENS : 0;
  return prompt + Math.ceil((bytes(system) + bytesOfFunctions(functions)) / BYTES_PER_TOKEN);
}

const bytesOfFunctions = oncePer((functions: readonly ModelFunction[]) => sum(functions.map(bytesOfFunction)));

const bytesOfFunction = ({ name, description, inputSchema }: ModelFunction): number =>
  bytes(name) + bytes(description) + sizeOfJson(inputSchema);

/** Bytes in messages that a model reads. */
export function sizeOf(messages: readonly Message[]): number {
  return sum(messages.map(bytesOf));
}

function bytesOf(message: Message): number {
  if (message.role === "user") return bytes(message.text) + bytes(message.preface ?? "");
  if (message.role === "results") return sum(message.results.map(({ content }) => bytes(content)));
  const { text, calls, echo } = message;
  const plain = bytes(text) + sum(calls.map((call) => bytes(call.name) + bytes(call.arguments)));
  // Reasoning is sent back only in the provider's own blocks, and is billed as input.
  return Math.max(plain, sizeOfJson(echo?.blocks ?? null));
}

const jsonSizes = new WeakMap<object, number>();

/** An object's or array's bytes as JSON; 0 for other values. */
function sizeOfJson(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let size = jsonSizes.get(value);
  if (size === undefined) jsonSizes.set(value, (size = bytes(JSON.stringify(value))));
  return size;
}

const bytes = (text: string): number => Buffer.byteLength(text);

const UNKNOWN_WINDOW_TOKENS = 200_000;
/** Half of a large window would cost more with each query than it helps. */
const MAX_TOKENS = 200_000;
/** The least room for a conversation in any window. If a provider rejects it as too long, `shrink` halves it. */
const MIN_TOKENS = 2_000;
/** If the history filled the room, the first result in every run would cut the thread. */
const HISTORY_SHARE = 3 / 4;

/** How much conversation a model receives. */
export interface Budget {
  /** Earlier runs in the thread. */
  historyTokens: number;
  /** Earlier runs and the run's own messages. */
  conversationTokens: number;
}

/**
 * Half the model's context window is for earlier runs, unless the run sets another size, and half for the run itself.
 * Both stay within the room that the functions, the system text and the answer leave in the window, and the run keeps a
 * quarter of that room. The budget does not depend on the conversation: otherwise each query would cut the thread at
 * another point and miss the provider's prompt cache.
 */
export function budgetOf(
  { historyTokens: own, system, maxTokens }: Pick<RunRequest, "historyTokens" | "system" | "maxTokens">,
  functions: readonly ModelFunction[],
  { contextTokens }: Pick<ChosenModel, "contextTokens">,
): Budget {
  const half = Math.min(MAX_TOKENS, Math.floor((contextTokens ?? UNKNOWN_WINDOW_TOKENS) / 2));
  const room =
    contextTokens === undefined
      ? Infinity
      : Math.max(MIN_TOKENS, contextTokens - maxTokens - fixedTokens({ system, functions }));
  const historyTokens = Math.min(own ?? half, Math.floor(room * HISTORY_SHARE));
  return { historyTokens, conversationTokens: Math.min(historyTokens + half, room) };
}

/** A conversation's parts by size in bytes. */
export interface Conversation {
  history: History;
  query: number;
  /** Each with its calls' results. */
  turns: readonly number[];
}

export interface Fitted {
  /** How many units to omit, oldest first: earlier runs, then the run's turns. */
  dropped: number;
  /** Size without the omitted units. */
  bytes: number;
}

/**
 * Fits a conversation into its budget by omitting whole units. The run's query and its newest turn always stay: without
 * them the model would repeat the step it has just made. A conversation that no longer fits is cut to half its budget,
 * because providers cache prompts by their beginning, which then stays the same until that half is filled again.
 */
export function fit({ history, query, turns }: Conversation, { historyTokens, conversationTokens }: Budget): Fitted {
  const runs = history.entries.map((entry) => entry.bytes);
  const sizes = [...runs, ...turns];
  const maxBytes = conversationTokens * BYTES_PER_TOKEN;
  let dropped = firstShown(history, historyTokens * BYTES_PER_TOKEN);
  let bytes = query + sum(runs.slice(dropped));
  const cut = (newest: number): void => {
    if (bytes > maxBytes) while (dropped < newest && bytes > maxBytes / 2) bytes -= sizes[dropped++]!;
  };
  cut(runs.length);
  for (const [at, size] of turns.entries()) {
    bytes += size;
    cut(runs.length + at);
  }
  return { dropped, bytes };
}

/**
 * The index of the first run to show from a history: the first one that begins at or after a multiple of half the
 * budget, in bytes from the thread's beginning. The next queries then begin with the same run until half a budget was
 * added, so that prompt caches hit.
 */
export function firstShown({ entries, hasOlder, totalBytes }: History, maxBytes: number): number {
  const shownBytes = sum(entries.map((entry) => entry.bytes));
  if (!hasOlder && shownBytes <= maxBytes) return 0;
  const step = maxBytes / 2;
  const begin = Math.ceil((totalBytes - maxBytes) / step) * step;
  let at = totalBytes - shownBytes;
  let first = 0;
  while (first < entries.length && at < begin) at += entries[first++]!.bytes;
  return first;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** A call's outcome as the model reads it: JSON, a string as it is, or the error's message. Cut with a marker above 32 KiB. */
export function resultText(outcome: CallOutcome): Pick<ModelResult, "content" | "isError"> {
  if (!outcome.ok) return { content: cutText(outcome.message, LIMITS.resultToModelBytes), isError: true };
  const text = typeof outcome.value === "string" ? outcome.value : JSON.stringify(outcome.value);
  return { content: cutText(text, LIMITS.resultToModelBytes), isError: false };
}

function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const encoded = Buffer.from(text, "utf8");
  if (encoded.byteLength <= maxBytes) return text;
  let end = maxBytes;
  while ((encoded[end]! & 0xc0) === 0x80) end--; // not inside a character
  return `${encoded.toString("utf8", 0, end)}\n[cut: ${end} of ${encoded.byteLength} bytes shown]`;
}
