import { mapSchema } from "@patchbay/schema";
import { type JsonObject } from "@patchbay/kit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod3";
import { z as zod41 } from "zod41";
import { DefinitionError, defineFunction, type Schema } from "../../src/index.ts";

function define(input: Schema) {
  return defineFunction({ name: "find", description: "Finds.", input, roles: "everyone", handler: () => null });
}

/** A schema with a changed JSON Schema, as a release of zod could write that this package does not know. */
function changed(schema: z.ZodType, change: (one: JsonObject) => JsonObject): Schema {
  const standard = schema["~standard"];
  const input = (options: Parameters<typeof standard.jsonSchema.input>[0]) =>
    mapSchema(standard.jsonSchema.input(options) as JsonObject, change);
  const jsonSchema = { ...standard.jsonSchema, input };
  Object.defineProperty(schema, "~standard", { value: { ...standard, jsonSchema } });
  return schema;
}

const without = (name: string) => (one: JsonObject) =>
  Object.fromEntries(Object.entries(one).filter(([keyword]) => keyword !== name));

const city = () => z.object({ city: z.string().meta({ title: "City", description: "Its name" }) });
const kind = () => z.object({ kind: z.enum(["a", "b"]) });

const Comment = z.object({
  text: z.string().describe("A"),
  get replies() {
    return z.array(Comment);
  },
});

describe("a definition is refused if the JSON Schema for the model lacks", () => {
  const lossy: [string, Schema, string][] = [
    ["a description", changed(city(), without("description")), 'the description "Its name" of "city"'],
    ["a title", changed(city(), without("title")), 'the title "City" of "city"'],
    ["a type", changed(city(), (one) => ("title" in one ? without("type")(one) : one)), 'the type of "city"'],
    ["the values of an enum", changed(kind(), without("enum")), 'the values of "kind"'],
    [
      "one value of an enum",
      changed(kind(), (one) => ("enum" in one ? { ...one, enum: ["a"] } : one)),
      'the values of "kind"',
    ],
    ["a literal", changed(z.object({ kind: z.literal("a") }), without("const")), 'the values of "kind"'],
    [
      "a property",
      changed(z.object({ at: city() }), (one) => ("properties" in one ? { ...one, properties: {} } : one)),
      'the property "at"',
    ],
    [
      "the keys of a record",
      changed(z.object({ by: z.record(z.enum(["x"]), z.int()) }), without("propertyNames")),
      'the keys of "by"',
    ],
    [
      "a type inside lists",
      changed(z.object({ lines: z.array(z.tuple([z.object({ sku: z.string() })])) }), (one) =>
        one["type"] === "string" ? {} : one,
      ),
      'the type of "lines.*.0.sku"',
    ],
    [
      "a description of an alternative",
      changed(z.object({ by: z.union([z.string().describe("A"), z.int().describe("B")]) }), (one) =>
        one["description"] === "B" ? without("description")(one) : one,
      ),
      'the description "B" of "by"',
    ],
    [
      "a description of a value that may be absent",
      changed(z.object({ a: z.string().describe("A").nullable().optional() }), without("description")),
      'the description "A" of "a"',
    ],
    ["a description in a recursive schema", changed(Comment, without("description")), 'the description "A" of "text"'],
  ];

  test.each(lossy)("%s", (_, input, lost) => {
    expect(() => define(input)).toThrow(DefinitionError);
    expect(() => define(input)).toThrow(
      `Function "find": input: the JSON Schema for the model lacks ${lost}. zod 4.6.`,
    );
    expect(() => define(input)).toThrow(/Describe this part in another way, or pass raw JSON Schema\.$/);
  });

  test("more than a message can name", () => {
    const names = Array.from({ length: 8 }, (_, i) => `p${i}`);
    const input = changed(z.object(Object.fromEntries(names.map((name) => [name, z.int()]))), without("properties"));

    expect(() => define(input)).toThrow('lacks the property "p0", the property "p1"');
    expect(() => define(input)).toThrow('the property "p4", 3 more. zod');
  });
});

describe("a refusal says what to do for", () => {
  const nothing = () => ({ type: "object" });

  test("a release that cannot convert its schemas itself", () => {
    const input = zod41.object({ id: zod41.string() });
    input._zod.toJSONSchema = nothing;

    expect(() => define(input)).toThrow(
      'lacks the property "id". zod 4.1.13 cannot write it. Upgrade zod to 4.2 or newer, or pass raw JSON Schema.',
    );
  });

  test("zod mini", () => {
    const input = mini.object({ id: mini.string() });
    input._zod.toJSONSchema = nothing;

    expect(() => define(input)).toThrow(/Import z from "zod" instead of "zod\/mini", or pass raw JSON Schema\.$/);
  });

  test("a schema of zod 4 inside one of zod 3, and the reverse", () => {
    const inZod3 = zod3.object({ id: z.string().describe("Its number") as unknown as zod3.ZodString });
    const inZod4 = z.object({ id: zod3.string() as unknown as z.ZodString });

    for (const input of [inZod3, inZod4])
      expect(() => define(input)).toThrow(
        'Function "find": input: "id": a schema of zod 3 and one of zod 4 cannot contain each other. Write all parts with one of them.',
      );
  });
});
