import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { expect, test } from "vitest";
import { anthropicRequest } from "../src/anthropic.ts";
import { chatRequest } from "../src/openai-chat.ts";
import { responsesRequest } from "../src/openai-responses.ts";
import { takesStrict } from "../src/wire-schema.ts";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { asking, PING } from "./drive.ts";

const text = { type: "string" };

const respond = (inputSchema: JsonObject): ModelFunction => ({
  name: "respond",
  description: "Answers.",
  inputSchema,
  effect: "read",
});

const closed = (properties: JsonObject): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

test.each<[string, JsonObject]>([
  ["closed objects with required properties", closed({ a: text, b: closed({ c: { type: "integer" } }) })],
  ["lists, choices and fixed values", closed({ a: { type: "array", items: { anyOf: [text, closed({ b: text })] } } })],
  [
    "what can be null",
    closed({
      a: { type: ["number", "null"], description: "Optional." },
      b: { type: "integer", const: 1 },
      c: { type: ["string", "null"], enum: ["x", null] },
    }),
  ],
])("asks for strict arguments of %s", (_, schema) => {
  expect(takesStrict(respond({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }))).toBe(true);
});

test.each<[string, JsonObject]>([
  ["an open object", { type: "object", properties: { a: text }, required: ["a"] }],
  ["an optional property", { ...closed({ a: text }), required: [] }],
  ["an open object inside", closed({ a: { type: "array", items: { type: "object", properties: {} } } })],
  ["a keyword that one of the providers lacks", closed({ a: { type: "number", minimum: 1 } })],
  ["a pattern", closed({ a: { type: "string", pattern: "^a" } })],
  ["a reference", { ...closed({ a: { $ref: "#/$defs/a" } }), $defs: { a: text } }],
  ["a property of any type", closed({ a: {} })],
  ["fixed values without a type", closed({ a: { enum: ["a", 1] } })],
  ["a property with any value", closed({ a: true })],
  ["a required property without a schema", { ...closed({ a: text }), required: ["a", "b"] }],
  [
    "an object without required properties",
    closed({ a: { type: "object", properties: {}, additionalProperties: false } }),
  ],
  ["no value at all", closed({ a: { type: "string", enum: [] } })],
  ["the same value twice", closed({ a: { type: "string", enum: ["a", "a"] } })],
  ["a value of another type", closed({ a: { type: "string", enum: ["a", 1] } })],
  ["a fixed value of another type", closed({ a: { type: ["integer", "null"], const: 1.5 } })],
  ["fixed objects", closed({ a: { ...closed({}), enum: ["a"] } })],
  ["a fixed list", closed({ a: { type: "array", items: text, enum: ["a"] } })],
  ["a choice with values of its own", closed({ a: { anyOf: [text, { type: "null" }], enum: ["a"] } })],
  ["more depth than they accept", closed({ a: closed({ b: closed({ c: closed({ d: closed({ e: text }) }) }) }) })],
  ["more values than they accept", closed({ a: { type: "integer", enum: Array.from({ length: 251 }, (_, i) => i) } })],
])("does not ask for strict arguments of %s", (_, schema) => {
  expect(takesStrict(respond(schema))).toBe(false);
});

test("the answer function is strict, on the models that support it", () => {
  const one = respond(closed({ a: text }));
  const open = respond({ type: "object", properties: { a: text } });
  const strictOf = (body: JsonObject) => JSON.stringify(body["tools"]).match(/"strict":(true|false)/g) ?? [];
  const asked = (model: string, answers: ModelFunction) =>
    asking(model, { functions: [PING, answers], respond: answers });

  expect(strictOf(anthropicRequest(asked("claude-opus-5-5", one)).body)).toEqual(['"strict":true']);
  expect(strictOf(anthropicRequest(asked("claude-haiku-4-5", one)).body)).toEqual(['"strict":true']);
  expect(strictOf(anthropicRequest(asked("claude-sonnet-4-20250514", one)).body)).toEqual([]);
  expect(strictOf(anthropicRequest(asked("claude-opus-5-5", open)).body)).toEqual([]);
  expect(strictOf(responsesRequest(asked("gpt-6-astra", one)).body)).toEqual(['"strict":false', '"strict":true']);
  expect(strictOf(responsesRequest(asked("gpt-6-astra", open)).body)).toEqual(['"strict":false', '"strict":false']);
  expect(strictOf(chatRequest(asked("gpt-4.1", one)).body)).toEqual(['"strict":true']);
  expect(strictOf(chatRequest(asked("llama-4", one)).body)).toEqual([]);
});

test("a list of functions sent to two models is strict only for one of them", () => {
  const answers = respond(closed({ a: text }));
  const functions = [PING, answers];
  const toolsFor = (model: string) => anthropicRequest(asking(model, { functions, respond: answers })).body["tools"];

  expect(toolsFor("claude-opus-5-5")).toMatchObject([{ name: "ping" }, { name: "respond", strict: true }]);
  expect(JSON.stringify(toolsFor("claude-3-5-sonnet-20241022"))).not.toContain("strict");
});

test("OpenAI's own models are asked for strict arguments of every function whose schema allows it", () => {
  const functions = [
    { ...respond(closed({ a: text })), name: "close" },
    { ...respond({ ...closed({ a: text }), required: [] }), name: "optional" },
    { ...respond({ type: "object", properties: { a: text }, required: ["a"] }), name: "open" },
  ];
  const strictIn = (body: JsonObject) =>
    (body["tools"] as JsonObject[]).map((tool) => (isJsonObject(tool["function"]) ? tool["function"] : tool)["strict"]);

  expect(strictIn(responsesRequest(asking("gpt-6.1-terra", { functions })).body)).toEqual([true, false, false]);
  expect(strictIn(chatRequest(asking("gpt-4.1", { functions })).body)).toEqual([true, undefined, undefined]);
  expect(strictIn(chatRequest(asking("llama-4", { functions })).body)).toEqual([undefined, undefined, undefined]);
});
