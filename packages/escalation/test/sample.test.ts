import { expect, test } from "vitest";
import { z } from "zod";
import { sample } from "../src/sample.ts";

const sampled = (schema: z.ZodType) =>
  sample(z.toJSONSchema(schema, { io: "input" }) as never, {
    variant: 0,
    full: true,
    examples: true,
    text: () => "text",
    number: () => 1,
  });

test.for<[string, z.ZodType]>([
  ["a date", z.iso.date()],
  ["a time", z.iso.time()],
  ["a date with time", z.iso.datetime()],
  ["a date with an offset", z.iso.datetime({ offset: true })],
  ["a local date with time", z.iso.datetime({ local: true })],
  ["a date with minutes", z.iso.datetime({ precision: -1 })],
  ["a date with milliseconds", z.iso.datetime({ precision: 3 })],
  ["a duration", z.iso.duration()],
  ["a short date", z.string().regex(/^\d{2}\.\d{2}\.\d{4}$/)],
  ["an id of a certain version", z.uuidv7()],
  [
    "an example of a text that code checks",
    z
      .string()
      .refine((text) => text === "W100")
      .meta({ examples: ["W100"] }),
  ],
  ["an example of an object", z.object({ id: z.number().refine((id) => id === 7) }).meta({ examples: [{ id: 7 }] })],
])("the attacks write %s", ([, schema]) => {
  expect(schema.safeParse(sampled(schema))).toMatchObject({ success: true });
});
