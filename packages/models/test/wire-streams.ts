import { expect } from "vitest";
import type { ModelDelta, ModelTurn } from "@patchbay/engine/ports/model-provider";
import { anthropicAccumulator, type AnthropicEvent } from "../src/anthropic-accumulator.ts";
import { geminiAccumulator, type GeminiChunk } from "../src/gemini-accumulator.ts";
import { chatAccumulator, type ChatChunk } from "../src/openai-chat-accumulator.ts";
import { responsesAccumulator, type ResponsesEvent } from "../src/openai-responses-accumulator.ts";
import { type Accumulator, wireProvider } from "../src/turn-stream.ts";
import { wireNames } from "../src/wire-names.ts";
import { wireParameters } from "../src/wire-parameters.ts";
import { asking, FUNCTIONS, turnOf } from "./drive.ts";

export interface Read {
  shown: ModelDelta[];
  turn: ModelTurn | undefined;
}

const options = () => ({ model: "m", names: wireNames(FUNCTIONS), warnings: [] });
const parameters = wireParameters(FUNCTIONS);

/** One accumulator for each wire, as its provider makes it. */
const ACCUMULATORS = {
  anthropic: () => anthropicAccumulator({ ...options(), parameters }),
  "openai-chat": () => chatAccumulator(options()),
  "openai-responses": () => responsesAccumulator(options()),
  gemini: () => geminiAccumulator(options()),
};
export type WireName = keyof typeof ACCUMULATORS;

/** What a wire makes of its events. */
export function read(wire: WireName, events: readonly object[]): Read {
  const accumulator = ACCUMULATORS[wire]();
  const shown = events.flatMap((event) => accumulator.take(event as never));
  return { shown: [...shown, ...accumulator.held()], turn: accumulator.end() };
}

/** What a wire makes of its events' texts, which a provider may write as `JSON.stringify` never does. */
export function readTexts(wire: WireName, events: readonly string[]): Promise<ModelTurn> {
  const response = new Response(events.map((data) => `data: ${data}\n\n`).join(""));
  const accumulator = ACCUMULATORS[wire]() as Accumulator<object>;
  return turnOf(
    wireProvider(wire, () => ({ accumulator, open: () => Promise.resolve(response) })),
    asking("m"),
  );
}

export interface GoodCall {
  id?: string;
  name: string;
  text: string;
}

/** A well-formed turn of each wire: a text, then calls, then an end. */
export const GOOD: Record<WireName, (text: string, calls: readonly GoodCall[], end: string) => object[]> = {
  anthropic: (text, calls, end): AnthropicEvent[] => [
    { type: "message_start", message: { model: "m" } },
    ...[{ type: "text", text: "" }, ...calls.map(({ id = "", name }) => ({ type: "tool_use", id, name, input: {} }))]
      .map((content_block, index): AnthropicEvent[] => [
        { type: "content_block_start", index, content_block },
        {
          type: "content_block_delta",
          index,
          delta:
            index === 0
              ? { type: "text_delta", text }
              : { type: "input_json_delta", partial_json: calls[index - 1]!.text },
        },
        { type: "content_block_stop", index },
      ])
      .slice(text === "" ? 1 : 0)
      .flat(),
    { type: "message_delta", delta: { stop_reason: end } },
    { type: "message_stop" },
  ],
  "openai-chat": (text, calls, end): ChatChunk[] => [
    ...(text === "" ? [] : [{ choices: [{ delta: { content: text } }] }]),
    ...calls.map(({ id = "", name, text: args }, index) => ({
      choices: [{ delta: { tool_calls: [{ index, id, function: { name, arguments: args } }] } }],
    })),
    { choices: [{ delta: {}, finish_reason: end }] },
  ],
  "openai-responses": (text, calls, end): ResponsesEvent[] => {
    const items = [
      ...(text === "" ? [] : [{ type: "message", id: "msg_1", content: [{ type: "output_text", text }] }]),
      ...calls.map(({ id = "", name, text: args }, i) => ({
        type: "function_call",
        id: `fc_${i}`,
        call_id: id,
        name,
        arguments: args,
      })),
    ];
    return [
      ...items.flatMap((item, output_index): ResponsesEvent[] => [
        { type: "response.output_item.added", output_index, item: structuredClone(item) },
        { type: "response.output_item.done", output_index, item: structuredClone(item) },
      ]),
      { type: "response.completed", response: { status: end } },
    ];
  },
  gemini: (text, calls, end): GeminiChunk[] => [
    ...(text === "" ? [] : [{ candidates: [{ content: { parts: [{ text }] } }] }]),
    ...calls.map(({ id, name, text: args }) => ({
      candidates: [
        { content: { parts: [{ functionCall: { ...(id && { id }), name, args: JSON.parse(args) as never } }] } },
      ],
    })),
    { candidates: [{ finishReason: end }] },
  ],
};

/** The end of a complete turn on each wire. */
export const GOOD_END: Record<WireName, string> = {
  anthropic: "tool_use",
  "openai-chat": "tool_calls",
  "openai-responses": "completed",
  gemini: "STOP",
};

export const WIRE_NAMES = Object.keys(ACCUMULATORS) as WireName[];

/** The text in pieces. */
export function pieces(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...new Set(cuts.filter((cut) => cut > 0 && cut < text.length)), text.length].toSorted(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, i) => text.slice(places[i], end));
}

/** What must be the same in each form of the stream. */
export function essence(wire: WireName, events: readonly object[]) {
  const { shown, turn } = read(wire, events);
  const texts = (type: string) => shown.flatMap((delta) => (delta.type === type ? [delta.text] : [])).join("");
  expect(new Set(turn?.calls.map(({ id }) => id)).size).toBe(turn?.calls.length);
  return {
    text: turn?.text,
    shown: texts("textDelta"),
    thoughts: turn?.thoughts,
    thought: texts("thoughtDelta"),
    calls: turn?.calls.map(({ name, arguments: written }) => [name, JSON.parse(written)]),
    stop: turn?.stop,
  };
}
