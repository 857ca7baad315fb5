import { describe, expect, test } from "vitest";
import type { ModelStop } from "@patchbay/engine/ports/model-provider";
import { GOOD, GOOD_END, read, readTexts, WIRE_NAMES, type WireName } from "./wire-streams.ts";

const CALL = { id: "call_1", name: "ping", text: '{"id":"1"}' };

/** Ends that servers send, and names that no server documents. */
const UNKNOWN = [
  "error",
  "network_error",
  "insufficient_system_resource",
  "sensitive",
  "abort",
  "cancelled",
  "failed",
  "in_progress",
  "OTHER",
  "FINISH_REASON_UNSPECIFIED",
  "constructor",
  "__proto__",
  "future_reason",
];

const NATURAL: Record<WireName, Record<string, ModelStop>> = {
  anthropic: {
    end_turn: "stop",
    stop_sequence: "stop",
    tool_use: "calls",
    max_tokens: "length",
    pause_turn: "pause",
    refusal: "refused",
    model_context_window_exceeded: "context_window",
  },
  "openai-chat": { stop: "calls", tool_calls: "calls", function_call: "calls", eos: "calls", length: "length" },
  "openai-responses": { completed: "calls" },
  gemini: { STOP: "calls", MAX_TOKENS: "length", SAFETY: "refused", MALFORMED_FUNCTION_CALL: "malformed" },
};

describe.each(WIRE_NAMES)("%s", (wire) => {
  test.each(Object.entries(NATURAL[wire]))("ends naturally with %s", (end, stop) => {
    expect(read(wire, GOOD[wire]("The refund is", [CALL], end)).turn).toMatchObject({
      stop,
      calls: stop === "calls" ? [{ id: "call_1" }] : [],
    });
  });

  test.each(UNKNOWN)("fails with %s, with and without a call", (end) => {
    const failure = expect.objectContaining({ kind: "unknown_end", retryable: true });

    expect(() => read(wire, GOOD[wire]("The refund is", [], end))).toThrow(failure);
    expect(() => read(wire, GOOD[wire]("The refund is", [CALL], end))).toThrow(failure);
  });

  test("a natural end after an unknown one does not make the turn whole", () => {
    const [failed, whole] = ["error", GOOD_END[wire]].map((end) => GOOD[wire]("Half", [CALL], end));

    expect(() => read(wire, [...failed!, ...whole!])).toThrow(expect.objectContaining({ kind: "unknown_end" }));
  });
});

/** The events of a turn without what says why it ended. */
const endless = (wire: WireName, end: string): string[] =>
  GOOD[wire]("The refund is", [CALL], end)
    .map((event) => JSON.stringify(event))
    .filter((event) => !event.includes(`"${end}"`) && !event.includes("message_stop"));

test.each(WIRE_NAMES.flatMap((wire) => [[wire, "[DONE]"] as const, [wire, '{"type":"message_stop"}'] as const]))(
  "%s: a turn that only %s ends is a failed attempt without calls, and one that nothing ends was cut",
  async (wire, mark) => {
    const events = endless(wire, GOOD_END[wire]);
    const kind = mark === "[DONE]" || wire === "anthropic" ? "unknown_end" : "truncated";

    await expect(readTexts(wire, [...events, mark])).rejects.toMatchObject({ kind, retryable: true });
    await expect(readTexts(wire, events)).rejects.toMatchObject({ kind: "truncated" });
  },
);

test.each([
  ["anthropic", "max_tokens", "length"],
  ["openai-chat", "length", "length"],
  ["openai-chat", "content_filter", "refused"],
  ["gemini", "MAX_TOKENS", "length"],
] as const)("%s: a complete end after %s does not let the calls run", (wire, end, stop) => {
  const events = GOOD[wire]("", [CALL], end);
  const repeated = GOOD[wire]("", [], GOOD_END[wire]);

  expect(read(wire, [...events, ...repeated]).turn).toMatchObject({ stop, calls: [] });
});

test.each([
  ["max_output_tokens", "length"],
  ["content_filter", "refused"],
])("an incomplete response with %s is %s, whatever its event is called", (reason, stop) => {
  const response = { status: "incomplete", incomplete_details: { reason } };

  for (const type of ["response.incomplete", "response.completed"])
    expect(read("openai-responses", [{ type, response }]).turn).toMatchObject({ stop });
});

test.each([
  { type: "response.incomplete", response: {} },
  { type: "response.incomplete", response: { incomplete_details: { reason: "server_error" } } },
  { type: "response.cancelled", response: {} },
])("a response that ends otherwise is a failed attempt: %o", (event) => {
  expect(() => read("openai-responses", [event])).toThrow(expect.objectContaining({ kind: "unknown_end" }));
});

test("a complete response with an incomplete call is a failed attempt", () => {
  const item = { type: "function_call", call_id: "c", name: "ping", arguments: "{}", status: "incomplete" };

  expect(() =>
    read("openai-responses", [
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { status: "completed" } },
    ]),
  ).toThrow(expect.objectContaining({ kind: "unknown_end" }));
});
