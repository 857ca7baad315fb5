import { LIMITS } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod3";
import { DefinitionError, defineFunction, type RawSchema, type Schema } from "../src/index.ts";
import { call, serviceOf } from "./calls.ts";

function define(input: Schema) {
  return defineFunction({ name: "probe", description: "Echoes.", input, roles: "everyone", handler: (given) => given });
}

function raw(a: RawSchema): RawSchema {
  return { type: "object", properties: { a } };
}

function schemaOf(input: Schema): JsonObject {
  return define(input).manifest.inputSchema;
}

describe("each kind of schema is described and parsed", () => {
  const count = {
    type: "object",
    properties: { count: { type: "integer" }, note: { type: "string" } },
    required: ["count"],
  };
  const kinds: Record<string, Schema> = {
    "zod 4": z.object({ count: z.number().int(), note: z.string().optional() }),
    "zod mini": mini.object({ count: mini.int(), note: mini.optional(mini.string()) }),
    "zod 3": zod3.object({ count: zod3.number().int(), note: zod3.string().optional() }),
    arktype: type({ count: "number.integer", "note?": "string" }),
    "raw JSON Schema": count,
    "another library's Standard Schema": {
      "~standard": {
        version: 1,
        vendor: "handmade",
        validate: (value: unknown) =>
          Number.isInteger((value as { count?: unknown }).count)
            ? { value }
            : { issues: [{ message: "must be an integer", path: [{ key: "count" }] }] },
        jsonSchema: { input: () => count, output: () => count },
      },
    },
  };

  test.each(Object.entries(kinds))("%s", async (_, schema) => {
    const service = serviceOf(define(schema));
    const { type, properties, required } = schemaOf(schema);

    expect({ type, required }).toEqual({ type: "object", required: ["count"] });
    expect(properties).toMatchObject({ count: { type: "integer" }, note: { type: "string" } });
    expect(await call(service, "probe", { count: 3, note: "n", more: 1 })).toEqual({
      ok: true,
      // JSON Schema allows unlisted properties.
      value: { count: 3, note: "n", ...(schema === count && { more: 1 }) },
    });
    expect(await call(service, "probe", { count: "many" })).toMatchObject({
      ok: false,
      code: "invalid_arguments",
      message: expect.stringContaining("count"),
    });
  });

  test("a zod 3 release without Standard Schema works the same", async () => {
    const modern = zod3.object({ count: zod3.number().default(1) });
    const old = new Proxy(modern, { has: (target, key) => key !== "~standard" && Reflect.has(target, key) });

    const service = serviceOf(define(old));

    expect(await call(service, "probe", {})).toEqual({ ok: true, value: { count: 1 } });
    expect(await call(service, "probe", { count: "x" })).toMatchObject({ code: "invalid_arguments" });
  });
});

describe("the schema for models", () => {
  test("describes the input: defaults are optional, conversions have their input type", () => {
    expect(
      schemaOf(
        z.object({
          limit: z.number().default(10),
          since: z.string().transform((text) => new Date(text)),
          until: z.coerce.date(),
          total: z.coerce.bigint(),
        }),
      ),
    ).toEqual({
      type: "object",
      properties: {
        limit: { type: "number", default: 10 },
        since: { type: "string" },
        until: { type: "string", format: "date-time" },
        total: { type: "integer" },
      },
      required: ["since", "until", "total"],
    });
  });

  test("has no $schema, and no long pattern next to a standard format", () => {
    const schema = schemaOf(z.object({ at: z.iso.datetime(), mail: z.email(), code: z.string().regex(/^#W\d+$/) }));

    expect(schema["$schema"]).toBeUndefined();
    expect(schema["properties"]).toEqual({
      at: { type: "string", format: "date-time" },
      mail: { type: "string", format: "email" },
      code: { type: "string", pattern: "^#W\\d+$" },
    });
  });

  test.each<[string, Schema, JsonObject]>([
    ["raw", raw({ type: "string", format: "email", pattern: "@corp\\.com$" }), { pattern: "@corp\\.com$" }],
    ["raw of an own format", raw({ type: "string", format: "order-id", pattern: "^#W" }), { pattern: "^#W" }],
    ["zod 4", z.object({ a: z.email({ pattern: /@corp\.com$/ }) }), { pattern: "@corp\\.com$" }],
    ["zod 4, one version", z.object({ a: z.uuidv4() }), { pattern: expect.stringContaining("-4[0-9a-fA-F]{3}-") }],
    [
      "zod 3",
      zod3.object({
        a: zod3
          .string()
          .email()
          .regex(/@corp\.com$/),
      }),
      { pattern: "@corp\\.com$" },
    ],
  ])("keeps an owner's pattern next to a format: %s", (_, input, kept) => {
    expect(schemaOf(input)["properties"]).toEqual({
      a: expect.objectContaining({ format: expect.any(String), ...kept }),
    });
  });

  test("keeps properties with the names of keywords", () => {
    const input = z.object({ $ref: z.string(), $schema: z.string(), pattern: z.string(), format: z.literal("email") });

    expect(schemaOf(input)["properties"]).toMatchObject({
      $ref: { type: "string" },
      $schema: { type: "string" },
      pattern: { type: "string" },
      format: { const: "email" },
    });
  });

  test("has an object at the root instead of a reference to one", () => {
    const order = z.object({ id: z.string() }).meta({ id: "Order" });

    expect(schemaOf(order)).toMatchObject({ type: "object", properties: { id: { type: "string" } } });
  });

  test("keeps a recursive schema with references within itself", async () => {
    const Category = z.object({
      name: z.string(),
      get parts() {
        return z.array(Category);
      },
    });

    expect(schemaOf(Category)).toMatchObject({ properties: { parts: { items: { $ref: "#" } } } });
    const tree = { name: "a", parts: [{ name: "b", parts: [] }] };
    expect(await call(serviceOf(define(Category)), "probe", tree)).toEqual({ ok: true, value: tree });
  });

  test("is draft 2020-12 for zod 3: tuples have prefixItems, open objects stay open", () => {
    expect(schemaOf(zod3.object({ pair: zod3.tuple([zod3.string(), zod3.number()]) }))).toEqual({
      type: "object",
      properties: {
        pair: { type: "array", minItems: 2, maxItems: 2, prefixItems: [{ type: "string" }, { type: "number" }] },
      },
      required: ["pair"],
    });
  });

  test("describes the input of conversions of zod 3", () => {
    const since = zod3.string().pipe(zod3.coerce.date());

    expect(schemaOf(zod3.object({ since, until: zod3.coerce.date() }))["properties"]).toEqual({
      since: { type: "string" },
      until: { type: "string", format: "date-time" },
    });
  });

  test("is a copy: later changes of a raw schema have no effect", async () => {
    const raw = { type: "object", properties: { id: { type: "string" } } };
    const definition = define(raw);
    raw.type = "array";
    raw.properties = { id: { type: "number" } };
    Reflect.deleteProperty(raw.properties, "id");

    expect(definition.manifest.inputSchema["type"]).toBe("object");
    expect(await call(serviceOf(definition), "probe", { id: "1" })).toEqual({ ok: true, value: { id: "1" } });
  });
});

describe("a mistake in a schema is refused when the function is defined", () => {
  const mistakes: [string, Schema, RegExp][] = [
    [
      "a date of zod 4, with its path",
      z.object({ range: z.object({ since: z.date() }) }),
      /"range\.since" .*"date".*z\.iso\.datetime/,
    ],
    ["a file", z.object({ photo: z.file() }), /"photo".*"file".*base64 text: z\.base64\(\)/],
    ["a bigint inside an array", z.object({ ids: z.array(z.bigint()) }), /"ids\.\*".*"bigint"/],
    ["every part at once", z.object({ a: z.date(), b: z.map(z.string(), z.string()) }), /"a".*"b".*z\.record/],
    ["a bare transform", z.object({ x: z.transform(String) }), /"x".*"transform"/],
    ["a date of zod 3", zod3.object({ since: zod3.date().optional() }), /"since".*"date"/],
    [
      "a bigint of zod 3",
      zod3.object({ deep: zod3.array(zod3.object({ n: zod3.bigint() })) }),
      /"deep\.\*\.n".*"bigint"/,
    ],
    ["a date of arktype", type({ since: "Date" }), /cannot be written as JSON Schema/],
    ["a valibot schema", v.object({ id: v.string() }), /valibot.*toStandardJsonSchema.*@valibot\/to-json-schema/],
    ["a schema of a string", z.string(), /must describe an object.*"string"/],
    ["an array at the root", { type: "array", items: {} }, /must describe an object.*"array"/],
    ["a raw schema without a type", {}, /must describe an object/],
    ["a choice at the root", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), /anyOf at its root/],
    [
      "an invalid raw schema",
      { type: "object", properties: { a: { type: "text" } } },
      /invalid JSON Schema \(draft 2020-12\)/,
    ],
    [
      "a reference to elsewhere",
      { type: "object", properties: { a: { $ref: "https://example.com/a.json" } } },
      /\$ref .* at "a" has no target/,
    ],
    ["a reference to nothing", { type: "object", properties: { a: { $ref: "#/$defs/A" } } }, /has no target/],
    [
      "a schema that is too large",
      z.object({ a: z.string().describe("x".repeat(LIMITS.schemaBytes)) }),
      /exceed the limit of 65536/,
    ],
  ];

  test.each(mistakes)("%s", (_, input, message) => {
    expect(() => define(input)).toThrow(DefinitionError);
    expect(() => define(input)).toThrow(message);
    expect(() => define(input)).toThrow(/^Function "probe": input/);
  });

  test("a property that is missing in the JSON Schema", () => {
    const lossy = z.object({ id: z.string(), note: z.string() });
    lossy._zod.toJSONSchema = () => ({ type: "object" });

    expect(() => define(lossy)).toThrow(/lacks the property "id", the property "note"/);
  });
});
