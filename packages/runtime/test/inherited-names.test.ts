import type { JsonObject, JsonValue } from "@patchbay/kit";
import { type } from "arktype";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod3";
import { defineFunction, visibleTo, type Schema } from "../src/index.ts";
import { compileRawSchema } from "../src/schema/ajv.ts";
import { call, serviceOf } from "./calls.ts";

const NAMES = ["constructor", "toString", "valueOf", "hasOwnProperty"];
const text = { type: "string" };

type Shape = Record<string, never>;

function shapeOf(names: readonly string[], member: unknown): Shape {
  return Object.fromEntries(names.map((name) => [name, member])) as Shape;
}

/** A nested object with the given properties, in each library. */
const libraries: [string, (names: readonly string[], required: boolean) => Schema][] = [
  [
    "raw JSON Schema",
    (names, required) => ({
      type: "object",
      properties: { in: { type: "object", properties: shapeOf(names, text), ...(required && { required: names }) } },
    }),
  ],
  [
    "zod 4",
    (names, required) => z.object({ in: z.object(shapeOf(names, required ? z.string() : z.string().optional())) }),
  ],
  [
    "zod mini",
    (names, required) =>
      mini.object({ in: mini.object(shapeOf(names, required ? mini.string() : mini.optional(mini.string()))) }),
  ],
  [
    "arktype",
    (names, required) =>
      type({
        in: shapeOf(
          names.map((name) => (required ? name : `${name}?`)),
          "string",
        ),
      }) as Schema,
  ],
  [
    "zod 3",
    (names, required) =>
      zod3.object({ in: zod3.object(shapeOf(names, required ? zod3.string() : zod3.string().optional())) }),
  ],
];

const define = (input: Schema) =>
  defineFunction({ name: "probe", description: "Echoes.", input, roles: "everyone", handler: (given) => given });

describe.each(libraries)("members of %s that are named like members of every object", (_, schemaOf) => {
  test("are absent if they are optional", async () => {
    expect(await call(serviceOf(define(schemaOf(NAMES, false))), "probe", { in: {} })).toEqual({
      ok: true,
      value: { in: {} },
    });
  });

  test.each(NAMES)("are reported if they are required: %s", async (name) => {
    const service = serviceOf(define(schemaOf([name], true)));

    expect(await call(service, "probe", { in: {} })).toMatchObject({
      code: "invalid_arguments",
      message: expect.stringMatching(new RegExp(`in\\.${name}\\b`)),
    });
    expect(await call(service, "probe", { in: { [name]: "Ferrari" } })).toEqual({
      ok: true,
      value: { in: { [name]: "Ferrari" } },
    });
    expect(await call(service, "probe", { in: { [name]: 1 } })).toMatchObject({ code: "invalid_arguments" });
  });

  test("are absent from results if they are optional, and checked if they are required", async () => {
    const results = (schema: Schema, result: JsonValue) =>
      defineFunction({
        name: "probe",
        description: "Gives.",
        input: z.object({}),
        output: schema,
        roles: "everyone",
        handler: () => result as never,
      });
    const outcome = (required: boolean, result: JsonObject) =>
      call(serviceOf(results(schemaOf(["constructor"], required), { in: result })), "probe", {});

    expect(await outcome(false, {})).toEqual({ ok: true, value: { in: {} } });
    expect(await outcome(true, { constructor: "Ferrari" })).toEqual({
      ok: true,
      value: { in: { constructor: "Ferrari" } },
    });
    expect(await outcome(true, {})).toMatchObject({ code: "function_failed" });
  });
});

describe("a handler and authorize", () => {
  test("receive objects with the usual prototype", async () => {
    const seen: unknown[] = [];
    const look = (input: { driver?: object; constructor?: unknown }) =>
      seen.push(Object.hasOwn(input, "constructor"), typeof input.driver?.hasOwnProperty) > 0;
    const input = {
      type: "object",
      properties: { constructor: text, driver: { type: "object", default: {} } },
      default: {},
    };
    const definition = defineFunction({
      name: "probe",
      description: "Echoes.",
      input,
      roles: "everyone",
      authorize: ({ input: given }) => look(given as never),
      handler: (given) => look(given as never),
    });

    await call(serviceOf(definition), "probe", {});
    await call(serviceOf(definition), "probe", { constructor: "Ferrari", driver: {} });

    expect(seen).toEqual([false, "function", false, "function", true, "function", true, "function"]);
  });
});

describe("redaction", () => {
  const shapes: [string, Schema, Schema][] = [
    [
      "raw JSON Schema",
      { type: "object", properties: { constructor: visibleTo(text, ["staff"]), toString: text } },
      { type: "object", properties: { constructor: text, toString: text } },
    ],
    [
      "zod 4",
      z.object({ constructor: visibleTo(z.string().optional(), ["staff"]), toString: z.string().optional() }),
      z.object({}),
    ],
    [
      "zod 3",
      zod3.object({
        constructor: visibleTo(zod3.string().optional(), ["staff"]),
        toString: zod3.string().optional(),
      } as never),
      zod3.object({}),
    ],
  ];

  test.each(shapes)("removes such properties of %s for other roles only", async (_, output) => {
    const service = (result: object) =>
      serviceOf(
        defineFunction({
          name: "probe",
          description: "Gives.",
          input: z.object({}),
          output,
          roles: ["staff", "guest"],
          handler: () => result as never,
        }),
      );
    const whole = { constructor: "Ferrari", toString: "x" };

    expect(await call(service(whole), "probe", {}, { role: "staff" })).toEqual({ ok: true, value: whole });
    expect(await call(service(whole), "probe", {}, { role: "guest" })).toEqual({
      ok: true,
      value: { toString: "x" },
      redacted: ["constructor"],
    });
    expect(await call(service({}), "probe", {}, { role: "guest" })).toEqual({ ok: true, value: {} });
  });
});

/** After https://github.com/json-schema-org/JSON-Schema-Test-Suite, tests/draft2020-12: required.json and properties.json. */
describe("the JSON Schema test suite for inherited names", () => {
  const required = { required: ["__proto__", "toString", "constructor"] };
  const properties = {
    properties: {
      toString: { properties: { length: text } },
      constructor: { type: "number" },
    },
  };
  const items: [string, JsonObject, string, boolean][] = [
    ["required: ignores arrays", required, "[]", true],
    ["required: ignores other non-objects", required, "12", true],
    ["required: none of the properties mentioned", required, "{}", false],
    ["required: __proto__ present", required, '{ "__proto__": "foo" }', false],
    ["required: toString present", required, '{ "toString": { "length": 37 } }', false],
    ["required: constructor present", required, '{ "constructor": { "length": 37 } }', false],
    [
      "required: all present",
      required,
      '{ "__proto__": 12, "toString": { "length": "foo" }, "constructor": 37 }',
      true,
    ],
    ["properties: ignores arrays", properties, "[]", true],
    ["properties: ignores other non-objects", properties, "12", true],
    ["properties: none of the properties mentioned", properties, "{}", true],
    ["properties: toString not valid", properties, '{ "toString": { "length": 37 } }', false],
    ["properties: constructor not valid", properties, '{ "constructor": { "length": 37 } }', false],
    ["properties: all present and valid", properties, '{ "toString": { "length": "foo" }, "constructor": 37 }', true],
    ["dependentRequired", { dependentRequired: { toString: ["valueOf"] } }, "{}", true],
    ["dependentRequired: missed", { dependentRequired: { a: ["valueOf"] } }, '{ "a": 1 }', false],
    ["propertyNames", { propertyNames: { maxLength: 3 } }, "{}", true],
  ];

  test.each(items)("%s", (_, schema, value, isValid) => {
    expect(compileRawSchema(schema)(JSON.parse(value) as JsonValue).length === 0).toBe(isValid);
  });
});
