import { expect, test } from "vitest";
import { z } from "zod";
import * as z3 from "zod/v3";
import { parsingOf } from "../../src/schema/parsing.ts";

test("what a schema does before it judges is listed by kind and place", () => {
  const schema = z.strictObject({
    on: z.boolean().default(false),
    total: z.coerce.number(),
    items: z.array(z.union([z.strictObject({ a: z.string() }), z.strictObject({ b: z.string().prefault("x") })])),
    plain: z.object({ since: z.iso.date().optional() }),
  });

  expect(parsingOf(schema)).toEqual({
    "converts total": "number",
    "default items.*.b": '"x"',
    "default on": "false",
    "unlisted ": "refused",
    "unlisted items.*": "refused, refused",
  });
  expect(parsingOf(z3.z.object({ on: z3.z.coerce.boolean().default(true) }).strict())).toEqual({
    "converts on": "boolean",
    "default on": "true",
    "unlisted ": "refused",
  });
  expect(parsingOf({ type: "object", properties: { on: { type: "boolean", default: true } } })).toEqual({
    "default on": "true",
  });
  expect(parsingOf(undefined)).toEqual({});
});

test("a default that differs each time has no value", () => {
  let count = 0;

  expect(parsingOf(z.object({ id: z.number().default(() => ++count) }))).toEqual({ "default id": "computed" });
});

test("a recursive schema is read once", () => {
  const node: z.ZodType = z.strictObject({
    get next() {
      return node.optional();
    },
  });

  expect(parsingOf(z.object({ node }))).toEqual({ "unlisted __schema0": "refused" });
});
