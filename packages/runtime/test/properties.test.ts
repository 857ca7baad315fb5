import type { JsonObject, JsonValue } from "@patchbay/kit";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction } from "../src/index.ts";
import { toJson } from "../src/json.ts";
import { dropUnlisted } from "../src/schema/unlisted.ts";
import { call, memoryLog, serviceOf } from "./calls.ts";

const RUNS = { numRuns: 150 };
const name = fc
  .oneof(
    fc.constantFrom("id", "items", "properties", "$ref", "pattern", "format", "type", "__a"),
    fc.string({ minLength: 1, maxLength: 6 }),
  )
  .filter((key) => key !== "__proto__");

/** A zod schema, and values that it accepts. */
interface Sample {
  schema: z.ZodType;
  value: fc.Arbitrary<JsonValue>;
}

const leaf: fc.Arbitrary<Sample> = fc.constantFrom<Sample>(
  { schema: z.string(), value: fc.string() },
  { schema: z.string().describe("a text").min(2), value: fc.string({ minLength: 2 }) },
  { schema: z.int(), value: fc.integer() },
  { schema: z.number().nullable(), value: fc.option(fc.integer(), { nil: null }) },
  { schema: z.boolean(), value: fc.boolean() },
  { schema: z.enum(["a", "b"]), value: fc.constantFrom("a", "b") },
  { schema: z.uuid(), value: fc.uuid() },
  {
    schema: z.union([z.string(), z.object({ deep: z.int() })]),
    value: fc.oneof(fc.string(), fc.record({ deep: fc.integer() })),
  },
  { schema: z.record(z.string(), z.int()), value: fc.dictionary(name, fc.integer(), { maxKeys: 3 }) },
);

function objectOf(members: [string, Sample, boolean][]): Sample {
  const shape = Object.fromEntries(
    members.map(([key, { schema }, optional]) => [key, optional ? schema.optional() : schema]),
  );
  const values = Object.fromEntries(members.map(([key, { value }]) => [key, value]));
  const requiredKeys = members.filter(([, , optional]) => !optional).map(([key]) => key);
  return { schema: z.object(shape), value: fc.record(values, { requiredKeys, noNullPrototype: true }) };
}

const { object } = fc.letrec<{ any: Sample; object: Sample }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    leaf,
    tie("object"),
    tie("any").map(({ schema, value }) => ({ schema: z.array(schema), value: fc.array(value, { maxLength: 3 }) })),
  ),
  object: fc
    .uniqueArray(fc.tuple(name, tie("any"), fc.boolean()), { selector: ([key]) => key, maxLength: 5 })
    .map(objectOf),
}));

test("the JSON Schema accepts every value that zod accepts, and the handler receives it", async () => {
  const accepted = object.chain(({ schema, value }) => fc.tuple(fc.constant(schema), value));
  await fc.assert(
    fc.asyncProperty(accepted, async ([schema, value]) => {
      const definition = defineFunction({
        name: "echo",
        description: "Echoes.",
        input: schema,
        roles: "everyone",
        handler: (given) => given,
      });
      const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(definition.manifest.inputSchema);

      expect(validate(value)).toBe(true);
      expect(await call(serviceOf(definition), "echo", value)).toEqual({ ok: true, value });
    }),
    RUNS,
  );
});

test("raw and zod forms of one schema drop the same properties", () => {
  const noisy = object.chain(({ schema, value }) =>
    fc.tuple(fc.constant(schema), value, fc.jsonValue({ maxDepth: 1 })),
  );
  fc.assert(
    fc.property(noisy, ([schema, value, noise]) => {
      const described = defineFunction({
        name: "echo",
        description: "Echoes.",
        input: schema,
        roles: "everyone",
        handler: () => null,
      }).manifest.inputSchema;
      const given = { ...(value as JsonObject), "not listed": noise as JsonValue };

      expect(dropUnlisted(described, given)).toEqual(schema.parse(given));
    }),
    RUNS,
  );
});

test("any arguments end in an outcome, never in an exception", async () => {
  const input = z.object({ id: z.string(), lines: z.array(z.object({ n: z.int() })).optional() });
  const service = serviceOf(
    defineFunction({ name: "echo", description: "Echoes.", input, roles: "everyone", handler: (given) => given }),
  );
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (args) => {
      const outcome = await call(service, "echo", args as JsonValue, { log: memoryLog() });

      expect(outcome.ok || outcome.code === "invalid_arguments").toBe(true);
    }),
    RUNS,
  );
});

test("toJson copies like JSON.stringify", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const carried: unknown = JSON.parse(JSON.stringify(value), (key, member: unknown) =>
        key === "__proto__" ? undefined : member,
      );

      expect(toJson(value)).toEqual(carried);
    }),
    RUNS,
  );
});

test("a copy has no half of a surrogate pair", () => {
  expect(toJson({ "a\ud83d": ["\ude00", "\ud83d\ude00"] })).toEqual({ "a\ufffd": ["\ufffd", "\ud83d\ude00"] });
});

test("a circular value is refused", () => {
  const loop: Record<string, unknown> = {};
  loop["list"] = [{ loop }];

  const renamed: { toJSON(): unknown } = { toJSON: () => renamed };

  expect(() => toJson(loop)).toThrow(/is circular/);
  expect(() => toJson(renamed)).toThrow(/is circular/);
});

test("a copy has no property __proto__", () => {
  const copy = toJson(JSON.parse('{"__proto__":{"admin":true},"a":1}'));

  expect(copy).toEqual({ a: 1 });
  expect((copy as { admin?: boolean }).admin).toBeUndefined();
});
