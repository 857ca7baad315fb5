import { hash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Wire } from "./script.ts";
import { list, str } from "./wire-format.ts";

/** A part of a prompt that is cached completely or not at all. */
interface Segment {
  text: string;
  /** True if the client asks to cache the prompt up to here. */
  breakpoint: boolean;
}

/** Tokens of one request. `input` includes the other two. */
export interface CountedInput {
  input: number;
  cachedInput: number;
  cacheWriteInput: number;
}

/** Counts cache reads and writes of successive requests to a provider, from their bytes only. */
export type PromptCache = (model: string, body: JsonObject) => CountedInput;

export function promptCache(wire: Wire): PromptCache {
  if (wire === "anthropic") return blockCache();
  return wire === "gemini" ? chunkCache(wire, 4_096) : chunkCache(wire, 1_024);
}

/** The prompt of a request in the order in which the provider reads it, without the marks of its breakpoints. */
export function promptOf(wire: Wire, body: JsonObject): string[] {
  return segmentsOf(wire, body).map(({ text }) => text);
}

function segmentsOf(wire: Wire, body: JsonObject): Segment[] {
  const parts = (member: string): JsonValue[] => list(body[member]);
  if (wire === "openai-responses") return plain([...parts("tools"), body["instructions"] ?? "", ...parts("input")]);
  if (wire === "openai-chat") return plain([...parts("tools"), ...parts("messages")]);
  if (wire === "gemini") {
    const contents = list(body["contents"]).flatMap((one) =>
      list(one["parts"]).map((part) => [one["role"] ?? "", part]),
    );
    return plain([body["systemInstruction"] ?? "", ...parts("tools"), ...contents]);
  }
  const blocks = list(body["messages"]).flatMap(({ role, content }) =>
    list(content).map((block) => segment(block, str(role))),
  );
  const last = blocks.at(-1);
  if (last && body["cache_control"] !== undefined) last.breakpoint = true;
  return [
    ...list(body["tools"]).map((tool) => segment(tool, "tool")),
    ...list(body["system"]).map((block) => segment(block, "system")),
    // A change of these keeps only the functions and the system text cached.
    ...plain([[body["tool_choice"] ?? null, body["thinking"] ?? null]]),
    ...blocks,
  ];
}

const plain = (values: JsonValue[]): Segment[] =>
  values.map((value) => ({ text: JSON.stringify(value), breakpoint: false }));

function segment({ cache_control: mark, ...block }: JsonObject, role: string): Segment {
  return { text: `${role} ${JSON.stringify(block)}`, breakpoint: isJsonObject(mark) };
}

const BYTES_PER_TOKEN = 4;
const tokensOf = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/** Number of blocks before a breakpoint in which an earlier entry is searched. */
const LOOKBACK = 20;
/** Minimum of Claude's newest models; older ones have up to 4,096. */
const LEAST_TOKENS = 512;

/** Claude: entries are written at the client's breakpoints, and searched from there. */
function blockCache(): PromptCache {
  const entries = new Set<string>();
  return (model, body) => {
    const segments = segmentsOf("anthropic", body);
    const keys: string[] = [];
    const sizes: number[] = [];
    let bytes = 0;
    for (const { text } of segments) {
      bytes += Buffer.byteLength(text);
      keys.push(hash("sha256", `${keys.at(-1) ?? model} ${text}`));
      sizes.push(tokensOf(bytes));
    }
    const asked = segments.flatMap(({ breakpoint }, at) => (breakpoint && sizes[at]! >= LEAST_TOKENS ? [at] : []));
    const found = asked.flatMap((at) => {
      const first = Math.max(0, at - LOOKBACK + 1);
      const hit = keys.slice(first, at + 1).findLastIndex((key) => entries.has(key));
      return hit < 0 ? [] : [sizes[first + hit]!];
    });
    for (const at of asked) entries.add(keys[at]!);
    const cachedInput = Math.max(0, ...found);
    const written = Math.max(cachedInput, ...asked.map((at) => sizes[at]!));
    return { input: tokensOf(bytes), cachedInput, cacheWriteInput: written - cachedInput };
  };
}

const CHUNK_TOKENS = 128;

/** OpenAI and Gemini: every prompt is cached in chunks. Another cache key may select another machine with an empty cache. */
function chunkCache(wire: Wire, leastTokens: number): PromptCache {
  const entries = new Set<string>();
  return (model, body) => {
    const bytes = Buffer.from(promptOf(wire, body).join("\n"));
    const size = CHUNK_TOKENS * BYTES_PER_TOKEN;
    let key = JSON.stringify([model, body["prompt_cache_key"] ?? null]);
    let cached = 0;
    let isPrefix = true;
    for (let at = 0; at + size <= bytes.length; at += size) {
      key = hash("sha256", Buffer.concat([Buffer.from(key), bytes.subarray(at, at + size)]));
      isPrefix &&= entries.has(key);
      if (isPrefix) cached += CHUNK_TOKENS;
      entries.add(key);
    }
    const input = tokensOf(bytes.length);
    const cachedInput = cached >= leastTokens ? cached : 0;
    const writes = wire !== "gemini" && input >= leastTokens;
    return { input, cachedInput, cacheWriteInput: writes ? input - cachedInput : 0 };
  };
}
