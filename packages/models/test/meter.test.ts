import { expect, test } from "vitest";
import { anthropicAccumulator, type AnthropicEvent } from "../src/anthropic-accumulator.ts";
import { geminiAccumulator, type GeminiChunk } from "../src/gemini-accumulator.ts";
import { chatAccumulator, type ChatChunk } from "../src/openai-chat-accumulator.ts";
import { responsesAccumulator } from "../src/openai-responses-accumulator.ts";
import type { Accumulator } from "../src/turn-stream.ts";
import { wireNames } from "../src/wire-names.ts";
import { wireParameters } from "../src/wire-parameters.ts";
import { FUNCTIONS } from "./drive.ts";

const options = () => ({ model: "m", names: wireNames(FUNCTIONS), warnings: [] });
const call = (index: number, name: string) => ({ index, id: "", function: { name, arguments: '{"id":"1"}' } });
const part = (part: object): GeminiChunk => ({ candidates: [{ content: { parts: [part] } }] });

function used<Event>(accumulator: Accumulator<Event>, ...events: Event[]) {
  for (const event of events) accumulator.take(event);
  return accumulator.soFar();
}
const NOTHING = { input: 0, cachedInput: 0, cacheWriteInput: 0, output: 0 };

test("the usage of a cut answer of Claude is its first count, until it counts its output", () => {
  const accumulator = anthropicAccumulator({ ...options(), parameters: wireParameters(FUNCTIONS) });
  const first = { input_tokens: 2, cache_creation_input_tokens: 3_057, output_tokens: 71 };
  const counted = { input: 3_059, cachedInput: 0, cacheWriteInput: 3_057, output: 71 };
  const block = (index: number, type: string): AnthropicEvent => ({
    type: "content_block_start",
    index,
    content_block: { type },
  });
  const delta = (index: number, change: NonNullable<AnthropicEvent["delta"]>): AnthropicEvent => ({
    type: "content_block_delta",
    index,
    delta: change,
  });

  expect(accumulator.soFar()).toBeUndefined();
  expect(used(accumulator, { type: "message_start", message: { usage: first } })).toEqual({
    counted,
    uncountedBytes: 0,
  });
  const thought = [block(0, "thinking"), delta(0, { type: "thinking_delta", thinking: "Hm" })];
  const text = [block(1, "text"), delta(1, { type: "text_delta", text: "été" })];
  const call = [block(2, "tool_use"), delta(2, { type: "input_json_delta", partial_json: '{"id":"1"}' })];
  expect(used(accumulator, ...thought, ...text, ...call)).toEqual({ counted, uncountedBytes: 2 + 5 + 10 });
  expect(used(accumulator, { type: "message_delta", usage: { output_tokens: 198 } })).toEqual({
    counted: { ...counted, output: 198 },
    uncountedBytes: 0,
  });
});

test("the usage of a cut answer of Chat Completions is estimated from its text, unless the server counts in each chunk", () => {
  const delta = (change: object): ChatChunk => ({ choices: [{ delta: change }] });
  const accumulator = chatAccumulator(options());

  expect(used(accumulator, { choices: [] })).toBeUndefined();
  const written = [{ reasoning: "ab" }, { content: "cd" }, { refusal: "ef" }, { tool_calls: [call(0, "ping")] }];
  expect(used(accumulator, ...written.map(delta))).toEqual({ counted: NOTHING, uncountedBytes: 6 + 10 });
  const usage = { prompt_tokens: 50, completion_tokens: 9 };
  expect(used(accumulator, { ...delta({ content: "gh" }), usage })).toEqual({
    counted: { ...NOTHING, input: 50, output: 9 },
    uncountedBytes: 0,
  });
  expect(used(accumulator, delta({ content: "ij" }))).toMatchObject({ uncountedBytes: 2 });
});

test("early counts of 0 do not replace the estimate", () => {
  const chunk = { choices: [{ delta: { content: "abcd" } }], usage: { prompt_tokens: 0, completion_tokens: 0 } };

  expect(used(chatAccumulator(options()), chunk, chunk)).toEqual({ counted: NOTHING, uncountedBytes: 8 });
});

test("the usage of a cut answer of Responses is estimated from its text, reasoning and arguments", () => {
  const accumulator = responsesAccumulator(options());

  expect(used(accumulator, { type: "response.created", response: {} })).toBeUndefined();
  const reasoning = { type: "response.output_item.added", item: { type: "reasoning" } };
  expect(used(accumulator, reasoning)).toEqual({ counted: NOTHING, uncountedBytes: 0 });
  const kinds = ["output_text", "reasoning_summary_text", "function_call_arguments", "refusal"];
  const deltas = kinds.map((kind) => ({ type: `response.${kind}.delta`, delta: "four" }));
  expect(used(accumulator, ...deltas)).toEqual({ counted: NOTHING, uncountedBytes: 16 });
});

test("the usage of a failed response is its count", () => {
  const accumulator = responsesAccumulator(options());
  const failed = { error: { code: "server_error" }, usage: { input_tokens: 70, output_tokens: 8 } };

  expect(() => accumulator.take({ type: "response.failed", response: failed })).toThrow();
  expect(accumulator.soFar()).toEqual({ counted: { ...NOTHING, input: 70, output: 8 }, uncountedBytes: 0 });
});

test("the usage of a cut answer of Gemini is its last count plus an estimate of the rest", () => {
  const counts = { promptTokenCount: 60, thoughtsTokenCount: 20 };
  const accumulator = geminiAccumulator(options());

  expect(used(accumulator, { ...part({ text: "Hm", thought: true }), usageMetadata: counts })).toEqual({
    counted: { ...NOTHING, input: 60, output: 20, reasoning: 20 },
    uncountedBytes: 0,
  });
  const calling = part({ functionCall: { name: "ping", args: { id: "1" } } });
  expect(used(accumulator, part({ text: "abcd" }), calling)).toMatchObject({ uncountedBytes: 4 + 10 });
  const counted = { ...counts, candidatesTokenCount: 6 };
  expect(used(accumulator, { ...part({ text: "ef" }), usageMetadata: counted })).toEqual({
    counted: { ...NOTHING, input: 60, output: 26, reasoning: 20 },
    uncountedBytes: 0,
  });
});
