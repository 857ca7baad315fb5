import { describe, expect, test } from "vitest";
import * as fc from "@patchbay/test-support/properties";
import { essence, pieces, WIRE_NAMES, type WireName } from "./wire-streams.ts";

/** A text of each wire in pieces. */
const TEXTS: Record<WireName, (texts: readonly string[]) => object[]> = {
  anthropic: (texts) => [
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...texts.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ],
  "openai-chat": (texts) => [
    ...texts.map((content) => ({ choices: [{ delta: { content } }] })),
    { choices: [{ delta: {}, finish_reason: "stop" }] },
  ],
  "openai-responses": (texts) => [
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m", content: [] } },
    ...texts.map((delta) => ({ type: "response.output_text.delta", output_index: 0, item_id: "m", delta })),
    { type: "response.completed", response: {} },
  ],
  gemini: (texts) => [
    ...texts.map((text) => ({ candidates: [{ content: { parts: [{ text }] } }] })),
    { candidates: [{ finishReason: "STOP" }] },
  ],
};

describe.each(WIRE_NAMES)("%s", (wire) => {
  const WRITTEN = [
    ["<think>secret plan</think>Rome is sunny.", "secret plan", "Rome is sunny."],
    [
      "\n<think>\na < b, </thin\n</think>\n\n<think></think>\n<think>more</think> Rome </think> <think>",
      "\na < b, </thin\nmore",
      "Rome </think> <think>",
    ],
    ["<think>cut off </th", "cut off </th", ""],
    ["<thin", "", "<thin"],
    ["<thinking> is a tag", "", "<thinking> is a tag"],
    ["Use <think>x</think>", "", "Use <think>x</think>"],
    [" \n", "", " \n"],
  ] as const;

  test.each(WRITTEN)("%j has the thought %j and the answer %j, in one piece and in any", (written, thought, answer) => {
    const expected = {
      text: answer,
      shown: answer,
      thoughts: thought === "" ? [] : [thought],
      thought,
      calls: [],
      stop: "stop",
    };

    expect(essence(wire, TEXTS[wire]([written]))).toEqual(expected);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: written.length }), { maxLength: 12 }), (cuts) => {
        expect(essence(wire, TEXTS[wire](pieces(written, cuts)))).toEqual(expected);
      }),
    );
  });
});
