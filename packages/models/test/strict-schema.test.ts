import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { anthropicRequest } from "../src/anthropic.ts";
import { geminiRequest } from "../src/gemini.ts";
import { chatRequest } from "../src/openai-chat.ts";
import { responsesRequest } from "../src/openai-responses.ts";
import { strictFault, strictParameters } from "../src/strict-schema.ts";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { asking, PING } from "./drive.ts";

const text = { type: "string" };

const respond = (inputSchema: JsonObject): ModelFunction => ({
  name: "respond",
  description: "Answers.",
  inputSchema,
  effect: "read",
});

const closed = (properties: JsonObject, optional: readonly string[] = []): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

test.each<[string, JsonObject]>([
  ["closed objects with required properties", closed({ a: text, b: closed({ c: { type: "integer" } }) })],
  ["optional properties", closed({ a: text, b: closed({ c: text }, ["c"]) }, ["b"])],
  ["lists, choices and fixed values", closed({ a: { type: "array", items: { anyOf: [text, closed({ b: text })] } } })],
  [
    "what can be null",
    closed({
      a: { type: ["number", "null"], description: "Optional." },
      b: { type: "integer", const: 1 },
      c: { type: ["string", "null"], enum: ["x", null] },
    }),
  ],
  ["an object without properties", closed({ a: { type: "object", properties: {}, additionalProperties: false } })],
])("%s can be strict", (_, schema) => {
  expect(strictFault(respond({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }))).toBeUndefined();
});

test.each<[JsonObject, string]>([
  [{ type: "object", properties: { a: text }, required: ["a"] }, "its input allows members that it does not list"],
  [
    closed({ a: { type: "array", items: { type: "object", properties: {} } } }),
    "a[] allows members that it does not list",
  ],
  [closed({ a: { type: "number", minimum: 1 } }), "a has the keyword minimum"],
  [closed({ a: { type: "string", pattern: "^a" } }), "a has the keyword pattern"],
  [{ ...closed({ a: { $ref: "#/$defs/a" } }), $defs: { a: text } }, "its input has the keyword $defs"],
  [closed({ a: {} }), "a has no type"],
  [closed({ a: { enum: ["a", 1] } }), "a has no type"],
  [closed({ a: true }), "a takes any value"],
  [closed({ a: { type: "array" } }), "a[] takes any value"],
  [{ ...closed({ a: text }), required: ["a", "b"] }, "its input requires b, which it does not list"],
  [closed({ a: { type: ["string", "null"] } }, ["a"]), "a is optional and can also be null"],
  [closed({ a: { anyOf: [text, { type: "null" }] } }, ["a"]), "a is optional and can also be null"],
  [
    closed({ a: { anyOf: [closed({ b: text }, ["b"]), closed({ c: text })] } }),
    "a is a choice between objects with optional members",
  ],
  [closed({ a: { type: ["object", "null"] } }), "a has an object or a list among several types"],
  ...[
    { type: "string", enum: [] },
    { type: "string", enum: ["a", "a"] },
    { type: "string", enum: ["a", 1] },
    { type: ["integer", "null"], const: 1.5 },
  ].map((one): [JsonObject, string] => [
    closed({ a: one }),
    "a has no fixed values, one twice, or one that its type does not allow",
  ]),
  [closed({ a: { ...closed({}), enum: ["a"] } }), "a has the keyword enum"],
  [closed({ a: { type: "array", items: text, enum: ["a"] } }), "a has the keyword enum"],
  [closed({ a: { anyOf: [text, { type: "null" }], enum: ["a"] } }), "a has the keyword enum"],
  [
    closed({ a: closed({ b: closed({ c: closed({ d: closed({ e: text }) }) }) }) }),
    "a.b.c.d.e is nested in more than 5 levels",
  ],
  [
    closed({ a: { type: "integer", enum: Array.from({ length: 251 }, (_, i) => i) } }),
    "its input has more than 250 fixed values",
  ],
  [
    closed(
      Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`a${i}`, text])),
      Array.from({ length: 25 }, (_, i) => `a${i}`),
    ),
    "its input has more than 24 optional members",
  ],
])("%o cannot be strict: %s", (schema, fault) => {
  expect(strictFault(respond(schema))).toBe(fault);
});

/** A strict schema, and arguments that meet it. */
interface Sample {
  schema: JsonObject;
  value: JsonValue;
}

const scalar: fc.Arbitrary<Sample> = fc.oneof(
  fc.string().map((value): Sample => ({ schema: text, value })),
  fc.integer().map((value): Sample => ({ schema: { type: "integer" }, value })),
);
/** Not below an optional member: that one must not take null. */
const nullable: fc.Arbitrary<Sample> = fc.constantFrom<Sample>(
  { schema: { type: ["string", "null"] }, value: null },
  { schema: { anyOf: [{ type: "integer" }, { type: "null" }] }, value: null },
);

function objectOf(depth: number): fc.Arbitrary<Sample> {
  const inner = depth === 0 ? scalar : fc.oneof(scalar, objectOf(depth - 1), listOf(depth - 1));
  const member = fc.oneof(
    fc.record({ one: inner, kind: fc.constantFrom("required", "given", "absent") }),
    fc.record({ one: nullable, kind: fc.constant("required") }),
    fc.record({
      one: inner.map(({ schema, value }) => ({ schema: { anyOf: [schema, { type: "boolean" }] }, value })),
      kind: fc.constantFrom("required", "absent"),
    }),
  );
  return fc
    .dictionary(fc.constantFrom("a", "b", "toString", "null"), member, { noNullPrototype: false })
    .map((members) => {
      const entries = Object.entries(members);
      const properties = Object.fromEntries(entries.map(([name, { one }]) => [name, one.schema]));
      const optional = entries.flatMap(([name, { kind }]) => (kind === "required" ? [] : [name]));
      const given = entries.filter(([, { kind }]) => kind !== "absent");
      return {
        schema: closed(properties, optional),
        value: Object.fromEntries(given.map(([name, { one }]) => [name, one.value])),
      };
    });
}

const listOf = (depth: number): fc.Arbitrary<Sample> =>
  objectOf(depth).map(({ schema, value }) => ({ schema: { type: "array", items: schema }, value: [value, value] }));

/** The arguments as a strict model must write them: with null for each member that is absent. */
function written(value: JsonValue, schema: JsonObject): JsonValue {
  const { anyOf, items, properties } = schema;
  if (Array.isArray(anyOf)) return written(value, anyOf[0] as JsonObject);
  if (Array.isArray(value)) return value.map((item) => written(item, items as JsonObject));
  if (!isJsonObject(value) || !isJsonObject(properties)) return value;
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [
      name,
      Object.hasOwn(value, name) ? written(value[name]!, member as JsonObject) : null,
    ]),
  );
}

test("the nulls that stand for optional members are removed, and nothing else", () => {
  const holds = ({ schema, value }: Sample) => {
    const one = respond(schema);
    fc.pre(strictFault(one) === undefined);
    const read = strictParameters([one]).fromWire("respond", JSON.stringify(written(value, schema)));
    expect(JSON.parse(read)).toEqual(value);
  };
  fc.assert(fc.property(objectOf(2), holds));
});

test("arguments that cannot be read are left as the model wrote them", () => {
  const { fromWire } = strictParameters([respond(closed({ a: text, b: text }, ["b"]))]);
  for (const broken of ['{"a":9007199254740993,"b":null}', '{"a":"x","a":"y","b":null}', '{"b":null', "null", ""])
    expect(fromWire("respond", broken)).toBe(broken);
  expect(fromWire("unknown", '{"b":null}')).toBe('{"b":null}');
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

const FUNCTIONS = [
  { ...respond(closed({ a: text })), name: "close" },
  { ...respond(closed({ a: text }, ["a"])), name: "optional" },
  { ...respond({ type: "object", properties: { a: text }, required: ["a"] }), name: "open" },
];

test("each provider is asked for strict arguments of the functions whose schema allows it", () => {
  const functions = FUNCTIONS;
  const strictIn = (body: JsonObject) =>
    (body["tools"] as JsonObject[]).map((tool) => (isJsonObject(tool["function"]) ? tool["function"] : tool)["strict"]);
  const claude = asking("claude-opus-5-5", { functions });

  expect(strictIn(responsesRequest(asking("gpt-6.1-terra", { functions })).body)).toEqual([true, true, false]);
  expect(strictIn(chatRequest(asking("gpt-4.1", { functions })).body)).toEqual([true, true, undefined]);
  expect(strictIn(chatRequest(asking("llama-4", { functions })).body)).toEqual([undefined, undefined, undefined]);
  expect(strictIn(anthropicRequest(claude).body)).toEqual([true, true, undefined]);
  expect(strictIn(anthropicRequest(claude, { isOwn: false }).body)).toEqual([undefined, undefined, undefined]);
});

test("OpenAI gets an optional member as a required one that can be null, Claude as it is", () => {
  const functions = FUNCTIONS.slice(1, 2);
  const sent = (body: JsonObject) => JSON.stringify(body["tools"]);
  const required = '"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]';

  expect(sent(responsesRequest(asking("gpt-6.1-terra", { functions })).body)).toContain(required);
  expect(sent(chatRequest(asking("gpt-4.1", { functions })).body)).toContain(required);
  expect(sent(chatRequest(asking("llama-4", { functions })).body)).not.toContain("null");
  expect(sent(anthropicRequest(asking("claude-opus-5-5", { functions })).body)).not.toContain("null");
});

test("Gemini validates calls if the schemas of all functions allow it", () => {
  const mode = (model: string, functions: ModelFunction[], toolChoice: "auto" | "none" = "auto") =>
    geminiRequest(asking(model, { functions, toolChoice })).body.toolConfig?.["functionCallingConfig"];

  expect(mode("gemini-3.8-flash", FUNCTIONS.slice(0, 2))).toEqual({ mode: "VALIDATED" });
  expect(mode("gemini-3.8-flash", FUNCTIONS)).toEqual({ mode: "AUTO" });
  expect(mode("gemini-2.0-flash", FUNCTIONS.slice(0, 2))).toEqual({ mode: "AUTO" });
  expect(mode("gemini-3.8-flash", FUNCTIONS.slice(0, 2), "none")).toEqual({ mode: "NONE" });
});

test("Claude is asked for at most 20 strict functions with 24 optional members in a request, the answer first", () => {
  const strictOf = (optional: readonly string[]) => {
    const schema = closed({ a: text, b: text }, optional);
    const answers = respond(schema);
    const many = Array.from({ length: 30 }, (_, at) => ({ ...respond(schema), name: `f${at}` }));
    const { body } = anthropicRequest(asking("claude-opus-5-5", { functions: [...many, answers], respond: answers }));
    const tools = body["tools"] as JsonObject[];
    return tools.filter((tool) => tool["strict"] === true).map(({ name }) => name);
  };

  expect([strictOf([]).length, strictOf([]).at(-1)]).toEqual([20, "respond"]);
  expect([strictOf(["a", "b"]).length, strictOf(["a", "b"]).at(-1)]).toEqual([12, "respond"]);
});
