import { labelsIn } from "@patchbay/access";
import type { JsonValue } from "@patchbay/kit";
import { expect, test } from "vitest";
import { z } from "zod";
import { createLabels, secret, untrusted } from "../../src/flow/labels.ts";
import type { Schema } from "../../src/schema/schema.ts";
import { defineFunction, defineService, everyone } from "../../src/index.ts";
import { call } from "../calls.ts";

const text = z.string();
const mail = z.object({
  id: text,
  body: untrusted(text),
  code: secret(text).optional(),
  "a.b": untrusted(text).optional(),
});

const RESULTS: [name: string, schema: Schema, value: JsonValue][] = [
  ["a list", z.array(mail), [{ id: "1", body: "x" }]],
  ["a list without items", z.array(mail), []],
  ["an optional member", mail, { id: "1", body: "x", code: "RC-1" }],
  ["a name with a dot", mail, { id: "1", body: "x", "a.b": "x" }],
  ["a record", z.record(text, mail), { ida: { id: "1", body: "x" } }],
  ["a tuple", z.tuple([text, untrusted(text)]), ["a", "b"]],
  ["a list in a list", z.array(z.object({ parts: z.array(untrusted(text)) })), [{ parts: [] }, { parts: ["x"] }]],
  ["the whole result", untrusted(z.array(text)), []],
];

test.each(RESULTS)("a stored result has the labels that the runtime gave: %s", (_, schema, value) => {
  const labels = createLabels(schema, "output")!;

  const { untrusted: strange = [], secret: hidden = [] } = labels.of(value);

  expect(labelsIn(labels.rules, { ok: true, value })).toEqual({ untrusted: strange.toSorted(), secret: hidden });
});

test("an error may repeat what strangers can write, in any part of the result", () => {
  const outcome = { ok: false, code: "function_failed", message: "x" } as const;

  expect(labelsIn({ untrusted: ["$"], secret: ["$"] }, outcome)).toEqual({ untrusted: ["$"] });
  expect(labelsIn({ untrusted: ["[].body"] }, outcome)).toEqual({ untrusted: ["$"] });
  expect(labelsIn({ secret: ["[].code"] }, outcome)).toEqual({});
});

test("a runtime labels an error where strangers can write the result or a part of it", async () => {
  const failing = (name: string, output: Schema) =>
    defineFunction({
      name,
      description: "Fails.",
      input: z.object({}),
      output,
      roles: everyone,
      effect: "read",
      handler: () => {
        throw new Error("x");
      },
    });
  const functions = [failing("whole", untrusted(text)), failing("part", mail), failing("own", z.object({ id: text }))];
  const service = defineService({ name: "mail", functions, flows: { mode: "report" } });

  expect(await call(service, "whole", {})).toMatchObject({ ok: false, flow: { untrusted: ["$"] } });
  expect(await call(service, "part", {})).toMatchObject({ ok: false, flow: { untrusted: ["$"] } });
  expect(await call(service, "own", {})).not.toHaveProperty("flow");
});
