import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { AgentSettings, LocalQueryRequest, QueryRequest } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";
import { checkResponseSchema } from "../src/answer/check.ts";

const STRING = { type: "string" };

const faults = (schema: unknown): [path: string, message: string][] =>
  checkResponseSchema(schema).map(({ path, message }) => [path.join("."), message]);

const pathsOf = (schema: unknown): string[] => faults(schema).map(([path]) => path);

/** An object with one property `v`. */
const withMember = (schema: unknown): JsonObject => ({ type: "object", properties: { v: schema as JsonObject } });

function nested(levels: number): JsonObject {
  let schema: JsonObject = STRING;
  for (let i = levels; i > 0; i--)
    schema = i % 2 === 0 ? { type: "array", items: schema } : { type: "object", properties: { a: schema } };
  return schema;
}

test("accepts the schemas that libraries write", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://example.com/answer",
    type: "object",
    properties: {
      email: { type: "string", format: "email", pattern: "^(?!\\.)[A-Za-z0-9_'+\\-\\.]+@[a-z]+\\.com$" },
      total: { type: ["number", "null"], minimum: 0 },
      $async: { type: "boolean" },
      children: { type: "array", items: { $ref: "#/$defs/node" } },
    },
    required: ["total"],
    additionalProperties: false,
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    "x-vendor": { pattern: 1 },
  };
  expect(faults(schema)).toEqual([]);
  expect(faults({ type: "object", properties: { choice: { anyOf: [STRING, { type: "null" }] } } })).toEqual([]);
});

test.each<[string, unknown, string[]]>([
  ["a list", [], [""]],
  ["a root of another type", { type: "array" }, ["type"]],
  ["a root without a type", {}, ["type"]],
  ["a root of two types", { type: ["object", "null"] }, ["type"]],
  ["a choice at the root", { type: "object", anyOf: [true] }, ["anyOf"]],
  ["one of several at the root", { type: "object", oneOf: [true] }, ["oneOf"]],
  ["parts at the root", { type: "object", allOf: [true] }, ["allOf"]],
  ["a reference to another document", withMember({ $ref: "https://example.com/a" }), ["properties.v.$ref"]],
  ["a reference to the root", withMember({ $ref: "#" }), ["properties.v.$ref"]],
  ["a reference without a target", withMember({ $ref: "#/$defs/None" }), ["properties.v.$ref"]],
  ["a reference to something other than a schema", withMember({ $ref: "#/properties" }), ["properties.v.$ref"]],
  ["a reference that is a number", withMember({ $ref: 1 }), ["properties.v.$ref"]],
  ["a dynamic reference", withMember({ $dynamicRef: "#a" }), ["properties.v.$dynamicRef"]],
  ["an id inside", withMember({ $id: "a" }), ["properties.v.$id"]],
  ["$async", { type: "object", $async: true }, ["$async"]],
  ["$async inside", withMember({ $async: true }), ["properties.v.$async"]],
  ["an unknown type", withMember({ type: "text" }), ["properties.v.type"]],
  ["a tuple of an earlier draft", withMember({ type: "array", items: [STRING] }), ["properties.v.items"]],
  ["a bound of an earlier draft", withMember({ exclusiveMinimum: true }), ["properties.v.exclusiveMinimum"]],
  ["a negative count", withMember({ minLength: -1 }), ["properties.v.minLength"]],
  ["required of an earlier draft", withMember({ required: true }), ["properties.v.required"]],
  ["an empty choice", withMember({ anyOf: [] }), ["properties.v.anyOf"]],
  ["a list of properties", { type: "object", properties: [] }, ["properties"]],
  ["a property with a text as its schema", withMember("string"), ["properties.v"]],
  ["an enum that is a text", withMember({ enum: "a" }), ["properties.v.enum"]],
  ["a broken pattern", withMember({ pattern: "(" }), ["properties.v.pattern"]],
  ["a back reference", withMember({ pattern: "^(a+)\\1$" }), ["properties.v.pattern"]],
  ["a look-behind", withMember({ pattern: "(?<=a)b" }), ["properties.v.pattern"]],
  ["a pattern with a huge count", withMember({ pattern: "^(a{1000}){1000}$" }), ["properties.v.pattern"]],
  [
    "a pattern with hundreds of classes by property",
    withMember({ pattern: "[\\p{L}\\P{Lu}]".repeat(101) }),
    ["properties.v.pattern"],
  ],
  ["empty groups with huge counts", withMember({ pattern: "((?:){9999}){9999}" }), ["properties.v.pattern"]],
  [
    "patterns that are too large together",
    { type: "object", properties: { a: { pattern: "a{9000}" }, b: { pattern: "b{9000}" }, c: { pattern: "c{9000}" } } },
    ["properties.c.pattern"],
  ],
  ["a broken name pattern", withMember({ patternProperties: { "[": true } }), ["properties.v.patternProperties.["]],
  [
    "schemas that lead back to themselves",
    { ...withMember({ $ref: "#/$defs/a" }), $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } },
    ["$defs.a"],
  ],
])("refuses %s", (_, schema, paths) => {
  expect(pathsOf(schema)).toEqual(paths);
});

test("limits bytes, depth, properties and the characters of names", () => {
  const ofSize = (bytes: number) => ({
    type: "object",
    description: "x".repeat(bytes - '{"type":"object","description":""}'.length),
  });
  expect(faults(ofSize(65_536))).toEqual([]);
  expect(faults(ofSize(65_537))).toEqual([["", "has 65537 bytes, which exceed the limit of 65536. Describe less."]]);

  expect(faults(nested(10))).toEqual([]);
  expect(faults(nested(11))[0]?.[1]).toMatch(/^is at depth 11, which exceeds the limit of 10/);

  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, STRING]));
  expect(faults({ type: "object", properties: members(200) })).toEqual([]);
  expect(pathsOf({ type: "object", properties: members(201) })).toEqual(["properties"]);
  const split = { type: "object", properties: { a: { properties: members(150) }, b: { properties: members(49) } } };
  expect(pathsOf(split)).toEqual(["properties.b.properties"]);

  expect(faults(withMember({ properties: { ["ñ".repeat(64)]: STRING } }))).toEqual([]);
  expect(pathsOf(withMember({ properties: { ["n".repeat(65)]: STRING } }))).toEqual(["properties.v.properties"]);
});

test("a schema nested deeper than the call stack is refused", () => {
  let deep = "true";
  for (let i = 0; i < 5_000; i++) deep = `{"not":${deep}}`;
  expect(faults(withMember(JSON.parse(deep)))[0]?.[1]).toBe("nests deeper than 64");
});

test("the check never throws", () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.constantFrom("properties", "items", "$ref", "pattern", "anyOf", "required"),
      (value, keyword) => {
        checkResponseSchema(value);
        checkResponseSchema(withMember({ [keyword]: value }));
      },
    ),
  );
});

test("queries and agent settings report the path of each fault of a schema", () => {
  const schema = { type: "object", properties: { a: { type: "text" }, b: { minItems: "1" } } };
  const paths = (parsed: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) =>
    parsed.error?.issues.map(({ path }) => path.join("."));

  expect(paths(QueryRequest.safeParse({ query: "hi", responseSchema: schema }))).toEqual([
    "responseSchema.properties.a.type",
    "responseSchema.properties.b.minItems",
  ]);
  expect(paths(LocalQueryRequest.safeParse({ query: "hi", response_schema: { type: "text" } }))).toEqual([
    "response_schema.type",
  ]);
  expect(paths(AgentSettings.safeParse({ responseSchema: schema }))).toEqual([
    "responseSchema.properties.a.type",
    "responseSchema.properties.b.minItems",
  ]);
  expect(QueryRequest.parse({ query: "hi", responseSchema: null })).toEqual({ query: "hi" });
  expect(paths(QueryRequest.safeParse({ query: "hi", responseSchema: "object" }))).toEqual(["responseSchema"]);
});
