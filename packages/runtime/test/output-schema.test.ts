import { type } from "arktype";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { z as zod3 } from "zod3";
import { defineFunction, type Schema } from "../src/index.ts";
import { call, memoryLog, serviceOf } from "./calls.ts";

const row = { name: "Mei", passwordHash: "x", address: { zip: "1", doorCode: "2" }, tags: ["a"] };
const sent = { name: "Mei", address: { zip: "1" }, tags: ["a"] };

const kinds: Record<string, Schema> = {
  "zod 4": z.object({ name: z.string(), address: z.object({ zip: z.string() }), tags: z.array(z.string()) }),
  "zod 3": zod3.object({
    name: zod3.string(),
    address: zod3.object({ zip: zod3.string() }),
    tags: zod3.array(zod3.string()),
  }),
  arktype: type({ name: "string", address: { zip: "string" }, tags: "string[]" }),
  valibot: v.object({ name: v.string(), address: v.object({ zip: v.string() }), tags: v.array(v.string()) }),
  "raw JSON Schema": {
    type: "object",
    properties: {
      name: { type: "string" },
      address: { type: "object", properties: { zip: { type: "string" } } },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["name"],
  },
};

function returning(result: unknown, output: Schema) {
  const probe = { name: "probe", description: "Returns a row.", input: z.object({}), roles: "everyone" as const };
  return call(
    serviceOf(defineFunction({ ...probe, output, handler: () => result })),
    "probe",
    {},
    { log: memoryLog() },
  );
}

test.each(Object.entries(kinds))("%s removes unlisted properties", async (_, output) => {
  expect(await returning(row, output)).toEqual({ ok: true, value: sent });
});

test.each(Object.entries(kinds))("%s refuses a result that does not match", async (_, output) => {
  expect(await returning({ ...row, name: 7 }, output)).toMatchObject({ ok: false, code: "function_failed" });
});

test("an output schema may be a scalar and may convert", async () => {
  expect(await returning(3, z.number())).toEqual({ ok: true, value: 3 });
  expect(await returning(new Date(0), z.date())).toEqual({ ok: true, value: "1970-01-01T00:00:00.000Z" });
  expect(
    await returning(
      "a,b",
      z.string().transform((text) => text.split(",")),
    ),
  ).toEqual({ ok: true, value: ["a", "b"] });
});

test("a raw output schema keeps properties of open objects", async () => {
  const open = { type: "object", properties: { id: {} }, additionalProperties: true };

  expect(await returning({ id: 1, more: { x: 1 } }, open)).toEqual({ ok: true, value: { id: 1, more: { x: 1 } } });
  expect(await returning({ any: 1 }, { type: "object" })).toEqual({ ok: true, value: { any: 1 } });
  expect(
    await returning({ id: 1, x_a: 1, y: 2 }, { properties: { id: {} }, patternProperties: { "^x_": {} } }),
  ).toEqual({
    ok: true,
    value: { id: 1, x_a: 1 },
  });
});
