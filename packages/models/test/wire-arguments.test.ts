import { describe, expect, test } from "vitest";
import type { Message } from "@patchbay/engine/ports/model-provider";
import { anthropicAccumulator } from "../src/anthropic-accumulator.ts";
import { anthropicRequest } from "../src/anthropic.ts";
import { geminiRequest } from "../src/gemini.ts";
import { wireNames } from "../src/wire-names.ts";
import { wireParameters } from "../src/wire-parameters.ts";
import { asking } from "./drive.ts";
import { GOOD, GOOD_END, readTexts, WIRE_NAMES, type WireName } from "./wire-streams.ts";

const TEXTS = ['{"id":2512292042121000001}', '{"id":"a","id":"b"}', '{"list":[1.5,{"deep":1e400}]}'];

/** The arguments in an event of `GOOD`, which the tests replace by the text that a model wrote. */
const HOLE = '{"id":"hole"}';
const AS_TEXT: Record<WireName, boolean> = {
  anthropic: true,
  "openai-chat": true,
  "openai-responses": true,
  gemini: false,
};

function textsOf(wire: WireName, args: string): string[] {
  const events = GOOD[wire]("", [{ id: "call_1", name: "ping", text: HOLE }], GOOD_END[wire]);
  const hole = AS_TEXT[wire] ? JSON.stringify(HOLE) : HOLE;
  return events.map((event) =>
    JSON.stringify(event).replaceAll(hole, () => (AS_TEXT[wire] ? JSON.stringify(args) : args)),
  );
}

describe.each(WIRE_NAMES)("%s", (wire) => {
  test.each(TEXTS)("passes %s on as the model wrote it", async (args) => {
    expect((await readTexts(wire, textsOf(wire, args))).calls).toEqual([
      { id: "call_1", name: "ping", arguments: args },
    ]);
  });
});

/** Compatible servers send the arguments as a value where the wire has a text. */
const AS_VALUE: Record<Exclude<WireName, "gemini">, (args: string) => string[]> = {
  anthropic: (args) => [
    '{"type":"message_start","message":{}}',
    `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1","name":"ping","input":${args}}}`,
    '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
    '{"type":"message_stop"}',
  ],
  "openai-chat": (args) => [
    `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"ping","arguments":${args}}}]}}]}`,
    '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}',
  ],
  "openai-responses": (args) => [
    `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"call_1","name":"ping","arguments":${args}}}`,
    '{"type":"response.completed","response":{}}',
  ],
};

describe.each(Object.entries(AS_VALUE))("%s", (wire, events) => {
  test.each([...TEXTS, '{"id":"7","limit":2}'])("takes %s as a value, too", async (args) => {
    const turn = await readTexts(wire as WireName, events(args));

    expect(turn.calls).toEqual([{ id: "call_1", name: "ping", arguments: args }]);
  });
});

test("Gemini's pieces of arguments keep a number as the model wrote it", async () => {
  const call = `{"name":"ping","partialArgs":[{"jsonPath":"$.ids[0]","numberValue":2512292042121000001}]}`;

  const turn = await readTexts("gemini", [
    `{"candidates":[{"content":{"parts":[{"functionCall":${call}}]},"finishReason":"STOP"}]}`,
  ]);

  expect(turn.calls[0]?.arguments).toBe('{"ids":[2512292042121000001]}');
});

test.each(["anthropic", "gemini"] as const)("%s gets a number back as text that it would round", async (wire) => {
  const { text, calls, echo } = await readTexts(wire, textsOf(wire, TEXTS[0]!));
  const requests = [
    { role: "assistant", text, calls } as const,
    { role: "assistant", text, calls, ...(echo && { echo }) } as const,
  ];

  for (const message of requests) {
    const messages: Message[] = [{ role: "user", text: "go" }, message];
    const { body } =
      wire === "gemini" ? geminiRequest(asking("m", { messages })) : anthropicRequest(asking("m", { messages }));
    expect(JSON.stringify(body)).toContain('{"id":"2512292042121000001"}');
  }
});

test("arguments that Claude's wire renames stay as the model wrote them", () => {
  const schema = { type: "object", properties: { "order id": {}, ok: {} } };
  const functions = [{ name: "refund", description: "", effect: "write" as const, inputSchema: schema }];
  const parameters = wireParameters(functions);
  const [renamed = ""] = Object.keys(parameters.schemaOf(functions[0]!)["properties"]!);
  const written = `{ "${renamed}" :2512292042121000001, "ok":"${renamed}", "${renamed}": 1.0 }`;
  const accumulator = anthropicAccumulator({ model: "m", names: wireNames(functions), warnings: [], parameters });
  for (const event of GOOD.anthropic("", [{ id: "a", name: "refund", text: written }], "tool_use"))
    accumulator.take(event as never);

  expect(accumulator.end()?.calls[0]?.arguments).toBe(
    `{ "order id" :2512292042121000001, "ok":"${renamed}", "order id": 1.0 }`,
  );
});
