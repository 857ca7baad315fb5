import { expect, test } from "vitest";
import { anthropicAccumulator, type AnthropicEvent } from "../src/anthropic-accumulator.ts";
import { createPrices } from "../src/prices.ts";
import { geminiAccumulator, type GeminiChunk } from "../src/gemini-accumulator.ts";
import { chatAccumulator, type ChatChunk } from "../src/openai-chat-accumulator.ts";
import { responsesAccumulator, type ResponsesEvent } from "../src/openai-responses-accumulator.ts";
import type { Accumulator } from "../src/turn-stream.ts";
import { wireNames } from "../src/wire-names.ts";
import { wireParameters } from "../src/wire-parameters.ts";
import { FUNCTIONS } from "./drive.ts";

const options = () => ({ model: "m", names: wireNames(FUNCTIONS), warnings: [] });

function feed<Event>(accumulator: Accumulator<Event>, events: Event[]) {
  const shown = events.flatMap((event) => accumulator.take(event) ?? []);
  return { shown, turn: accumulator.end() };
}
const chat = (...chunks: ChatChunk[]) => feed(chatAccumulator(options()), chunks).turn;
const gemini = (...chunks: GeminiChunk[]) => feed(geminiAccumulator(options()), chunks).turn;
const claude = (...events: AnthropicEvent[]) =>
  feed(anthropicAccumulator({ ...options(), parameters: wireParameters(FUNCTIONS) }), events).turn;
const responses = (...events: ResponsesEvent[]) => feed(responsesAccumulator(options()), events);

const part = (part: object): GeminiChunk => ({ candidates: [{ content: { parts: [part] } }] });
const call = (index: number, name: string, id = "") => ({ index, id, function: { name, arguments: '{"id":"1"}' } });
const finish = (finish_reason: string): ChatChunk => ({ choices: [{ delta: {}, finish_reason }] });

test("a compatible server may send calls without ids: each gets its own", () => {
  const turn = chat({ choices: [{ delta: { tool_calls: [call(0, "ping"), call(1, "ping")] } }] }, finish("tool_calls"));

  expect(new Set(turn?.calls.map(({ id }) => id)).size).toBe(2);
  expect(turn?.calls.every(({ id }) => id !== "")).toBe(true);
});

test("a compatible server may number every call 0", () => {
  const turn = chat(
    { choices: [{ delta: { tool_calls: [call(0, "ping", "a")] } }] },
    { choices: [{ delta: { tool_calls: [call(0, "orders_find", "b")] } }] },
    finish("tool_calls"),
  );

  expect(turn?.calls).toEqual([
    { id: "a", name: "ping", arguments: '{"id":"1"}' },
    { id: "b", name: "orders.find", arguments: '{"id":"1"}' },
  ]);
});

test("a compatible server may end a turn with calls with stop, send no usage and start with an empty chunk", () => {
  const turn = chat(
    { choices: [] },
    { choices: [{ delta: { tool_calls: [call(0, "ping", "a")] } }], usage: null },
    finish("stop"),
  );

  expect(turn).toMatchObject({ stop: "calls", usage: { input: 0, cachedInput: 0, cacheWriteInput: 0, output: 0 } });
});

test("extra fields of a gateway on a call are sent back with it", () => {
  const extra_content = { google: { thought_signature: "sig" } };
  const turn = chat(
    { choices: [{ delta: { tool_calls: [{ ...call(0, "ping", "a"), extra_content }] } }] },
    finish("tool_calls"),
  );

  expect(turn?.echo?.blocks).toMatchObject({ tool_calls: [{ extra_content, id: "a" }] });
});

test("a refusal that ends with stop is a refusal", () => {
  expect(chat({ choices: [{ delta: { refusal: "No." } }] }, finish("stop"))).toMatchObject({
    stop: "refused",
    text: "",
    refusal: "No.",
  });
});

test("Claude's explanation of a refusal is its reason", () => {
  const stopped = { stop_reason: "refusal", stop_details: { explanation: "I cannot help with that." } };
  const turn = claude({ type: "message_start" }, { type: "message_delta", delta: stopped }, { type: "message_stop" });

  expect(turn).toMatchObject({ stop: "refused", refusal: "I cannot help with that." });
});

test("invalid token counts become whole numbers, with a warning", () => {
  const counts = { prompt_tokens: "12", completion_tokens: -5, prompt_tokens_details: { cached_tokens: 1.4 } };
  const turn = chat({ ...finish("stop"), usage: counts as unknown as NonNullable<ChatChunk["usage"]> });

  expect(turn?.usage).toEqual({ input: 12, cachedInput: 1, cacheWriteInput: 0, output: 0 });
  expect(turn?.warnings).toEqual([
    'The provider reported "12" as a number of tokens, which was counted as 12.',
    "The provider reported 1.4 as a number of tokens, which was counted as 1.",
    "The provider reported -5 as a number of tokens, which was counted as 0.",
  ]);
});

/** Counts of a stream of claude-sonnet-5 with a prompt cache, recorded in July 2026. Only its first event splits the writes. */
const CLAUDE_RECORDING: AnthropicEvent[] = [
  {
    type: "message_start",
    message: {
      model: "claude-sonnet-5",
      usage: {
        input_tokens: 2,
        cache_creation_input_tokens: 3057,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_1h_input_tokens: 0 },
        output_tokens: 71,
      },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "The sum is **650**." } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: {
      input_tokens: 6,
      cache_creation_input_tokens: 3326,
      cache_read_input_tokens: 6267,
      output_tokens: 198,
    },
  },
  { type: "message_stop" },
];

test("Claude's cache writes are counted and charged separately from its reads", () => {
  const usage = claude(...CLAUDE_RECORDING)!.usage;

  expect(usage).toEqual({ input: 9599, cachedInput: 6267, cacheWriteInput: 3326, output: 198 });
  expect(createPrices().cost("claude-sonnet-5", usage)).toBe(Math.ceil(6 * 2 + 6267 * 0.2 + 3326 * 2.5 + 198 * 10));
});

test("Claude's cache writes for one hour are counted separately", () => {
  const writes = { cache_creation_input_tokens: 1200, cache_creation: { ephemeral_1h_input_tokens: 1000 } };
  const turn = claude(
    { type: "message_start", message: { usage: { input_tokens: 100, ...writes } } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 50 } },
    { type: "message_stop" },
  );

  expect(turn?.usage).toEqual({
    input: 1300,
    cachedInput: 0,
    cacheWriteInput: 1200,
    hourCacheWriteInput: 1000,
    output: 50,
  });
});

/** Counts of gpt-5.6-sol, first call of a prompt of 3,210 tokens, recorded in July 2026. */
test("OpenAI's cache writes are counted and charged", () => {
  const recorded = { input_tokens: 3210, input_tokens_details: { cached_tokens: 0, cache_write_tokens: 3207 } };
  const { turn } = responses({ type: "response.completed", response: { usage: { ...recorded, output_tokens: 40 } } });

  expect(turn?.usage).toEqual({ input: 3210, cachedInput: 0, cacheWriteInput: 3207, output: 40 });
  expect(createPrices().cost("gpt-5.6-sol", turn!.usage)).toBe(Math.ceil(3 * 4 + 3207 * 5 + 40 * 20));
});

test("a chunk with an error ends the turn, also if the server puts a status into it", () => {
  expect(() => chat({ error: { code: 429, message: "slow down" } })).toThrow(
    expect.objectContaining({ kind: "rate_limited" }),
  );
  expect(() => chat({ error: { code: "insufficient_quota", message: "paid out" } })).toThrow(
    expect.objectContaining({ kind: "quota" }),
  );
});

test.each([
  ["MALFORMED_FUNCTION_CALL", "malformed"],
  ["UNEXPECTED_TOOL_CALL", "malformed"],
  ["RECITATION", "refused"],
  ["MAX_TOKENS", "length"],
])("Gemini's %s is %s", (finishReason, stop) => {
  expect(gemini({ candidates: [{ finishReason }] })).toMatchObject({ stop, calls: [], text: "" });
});

test("a prompt that Gemini blocks is a refusal", () => {
  expect(gemini({ promptFeedback: { blockReason: "SAFETY" } })).toMatchObject({ stop: "refused" });
});

test("an unknown finish reason of Gemini is an error, not an answer", () => {
  expect(() => gemini(part({ text: "Hm" }), { candidates: [{ finishReason: "OTHER" }] })).toThrow(
    expect.objectContaining({ kind: "unknown_end" }),
  );
});

test("Gemini's parts are kept unmerged, with an id for internal use only", () => {
  const parts = [
    { text: "Loo" },
    { text: "king" },
    { functionCall: { name: "ping", args: {} }, thoughtSignature: "s" },
  ];
  const turn = gemini(...parts.map(part), { candidates: [{ finishReason: "STOP" }] });

  expect(turn).toMatchObject({
    text: "Looking",
    stop: "calls",
    calls: [{ id: expect.stringMatching(/./), arguments: "" }],
  });
  expect(turn?.echo?.blocks).toEqual(parts);
});

test("Claude's unknown blocks are sent back unchanged, its empty text blocks are not", () => {
  const future = { type: "future_block", secret: { nested: [1] } };
  const turn = claude(
    { type: "message_start", message: {} },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_start", index: 1, content_block: future },
    { type: "content_block_delta", index: 1, delta: { type: "future_delta" } },
    { type: "future_event" },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  );

  expect(turn?.echo?.blocks).toEqual([future]);
});

test.each([
  ["pause_turn", "pause"],
  ["model_context_window_exceeded", "context_window"],
  ["stop_sequence", "stop"],
])("Claude's %s is %s", (stop_reason, stop) => {
  expect(claude({ type: "message_delta", delta: { stop_reason } }, { type: "message_stop" })).toMatchObject({ stop });
});

test("commentary between OpenAI's calls is a thought, the final message the answer", () => {
  const message = (phase: string, text: string) => ({
    type: "message",
    phase,
    content: [{ type: "output_text", text }],
  });
  const { shown, turn } = responses(
    { type: "response.output_item.added", output_index: 0, item: message("commentary", "") },
    { type: "response.output_text.delta", output_index: 0, delta: "Checking." },
    { type: "response.output_item.done", output_index: 0, item: message("commentary", "Checking.") },
    { type: "response.output_item.done", output_index: 1, item: message("final_answer", "Sent.") },
    { type: "response.completed", response: {} },
  );

  expect(shown).toEqual([{ type: "thoughtDelta", text: "Checking." }]);
  expect(turn).toMatchObject({ text: "Sent.", thoughts: ["Checking."], stop: "stop" });
});

test("OpenAI's own filter is a refusal", () => {
  const { turn } = responses({
    type: "response.incomplete",
    response: { incomplete_details: { reason: "content_filter" } },
  });

  expect(turn?.stop).toBe("refused");
});

test("a failed response reports the reason", () => {
  expect(() =>
    responses({ type: "response.failed", response: { error: { code: "context_length_exceeded" } } }),
  ).toThrow(expect.objectContaining({ kind: "context_window" }));
  expect(() => responses({ type: "error", code: "insufficient_quota", message: "paid out" })).toThrow(
    expect.objectContaining({ kind: "quota" }),
  );
});
