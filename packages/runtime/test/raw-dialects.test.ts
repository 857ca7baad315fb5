import type { JsonObject } from "@patchbay/kit";
import { describe, expect, test } from "vitest";
import { DefinitionError, defineFunction, defineService, type RawSchema } from "../src/index.ts";

function define(input: RawSchema) {
  return defineFunction({ name: "probe", description: "Echoes.", input, roles: "everyone", handler: (given) => given });
}

describe("forms of older drafts and of OpenAPI", () => {
  const upgraded: [string, RawSchema, JsonObject][] = [
    [
      "a tuple",
      { items: [{ type: "string" }], additionalItems: false },
      { prefixItems: [{ type: "string" }], items: false },
    ],
    [
      "additionalItems without a tuple",
      { items: { type: "string" }, additionalItems: false },
      { items: { type: "string" } },
    ],
    ["an exclusive bound of draft 4", { minimum: 5, exclusiveMinimum: true }, { exclusiveMinimum: 5 }],
    ["a bound that is not exclusive", { maximum: 5, exclusiveMaximum: false }, { maximum: 5 }],
    [
      "dependencies",
      { dependencies: { a: ["b"], c: { required: ["d"] } } },
      { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
    ],
    ["an id", { id: "https://example.com/a", type: "string" }, { type: "string" }],
    ["nullable", { type: "string", nullable: true }, { type: ["string", "null"] }],
    [
      "nullable with enum",
      { type: "string", enum: ["a"], nullable: true },
      { type: ["string", "null"], enum: ["a", null] },
    ],
    ["nullable that is false", { type: "string", nullable: false }, { type: "string" }],
  ];

  test.each(upgraded)("%s is rewritten", (_, old, current) => {
    const nested = { items: { properties: { deep: old } } };
    const { inputSchema } = define({ type: "object", properties: { a: old, nested } }).manifest;

    expect(inputSchema["properties"]).toEqual({ a: current, nested: { items: { properties: { deep: current } } } });
  });

  test("definitions and their references stay unchanged", async () => {
    const definition = define({
      type: "object",
      properties: { id: { $ref: "#/definitions/Id" } },
      definitions: { Id: { type: "string" } },
    });

    expect(await definition.parseInput({ id: "1" })).toMatchObject({ ok: true });
    expect(await definition.parseInput({ id: 1 })).toMatchObject({ ok: false });
  });

  const passing = [
    "x-order",
    "example",
    "discriminator",
    "xml",
    "externalDocs",
    "deprecated",
    "$comment",
    "errorMessage",
  ];
  test.each(passing)("the annotation %s is allowed", (keyword) => {
    const properties = { a: { type: "string", [keyword]: { some: "thing" } } };
    const valid = ["deprecated", "$comment"].includes(keyword);
    if (valid) properties.a = { type: "string", [keyword]: keyword === "deprecated" ? true : "thing" } as never;

    expect(() => define({ type: "object", properties })).not.toThrow();
  });

  const refused: [string, RawSchema, string][] = [
    [
      "an asynchronous schema",
      { $async: true },
      'at "a": "$async" is not a keyword of JSON Schema 2020-12: its validation would end after the call began, so remove it.',
    ],
    [
      "a misspelt keyword",
      { requird: ["x"] },
      'at "a": "requird" is not a keyword of JSON Schema 2020-12: write "required".',
    ],
    [
      "another one",
      { maxLenght: 3 },
      'at "a": "maxLenght" is not a keyword of JSON Schema 2020-12: write "maxLength".',
    ],
    [
      "a keyword in other case",
      { minlength: 3 },
      'at "a": "minlength" is not a keyword of JSON Schema 2020-12: write "minLength".',
    ],
    [
      "an unknown keyword",
      { range: [1, 5] },
      'at "a": "range" is not a keyword of JSON Schema 2020-12: remove it, or name it "x-range" if it is only a description.',
    ],
    [
      "required of draft 3",
      { required: true },
      'at "a": "required" must be a list of names, on the object with these properties.',
    ],
    [
      "nullable without a type",
      { nullable: true, $ref: "#" },
      'at "a": "nullable" needs "type" next to it; write "anyOf": [..., { "type": "null" }].',
    ],
    [
      "an exclusive bound without a bound",
      { exclusiveMinimum: true },
      'at "a": "exclusiveMinimum": true needs "minimum"; write "exclusiveMinimum" with the number.',
    ],
    [
      "a type of another language",
      { type: "dict" },
      'invalid JSON Schema (draft 2020-12): at "a": "type" must be equal to one of the allowed values: ["array","boolean","integer","null","number","object","string"]',
    ],
    [
      "a pattern of another dialect",
      { pattern: "a\\-b" },
      'at "a": the pattern "a\\\\-b" is not a regular expression of JavaScript with the flag "u" (Invalid escape)',
    ],
  ];

  test.each(refused)("%s is refused with its path", (_, a, sentence) => {
    expect(() => define({ type: "object", properties: { a } })).toThrow(
      new DefinitionError(`Function "probe": input: ${sentence}`),
    );
  });

  test("a property name in place of a schema is refused with its path", () => {
    expect(() => define({ type: "object", properties: { a: "string" } })).toThrow(/: at "a" must be object,boolean$/);
  });

  test("unknown keywords are refused in outputs and contexts, too", () => {
    const misspelt = { type: "object", requird: ["a"] };
    const probe = { name: "probe", description: "Gives.", input: { type: "object" }, roles: "everyone" } as const;

    expect(() => defineFunction({ ...probe, output: misspelt, handler: () => null })).toThrow(/output: at the root/);
    expect(() => defineService({ name: "desk", functions: [], context: misspelt })).toThrow(/context: at the root/);
  });
});
