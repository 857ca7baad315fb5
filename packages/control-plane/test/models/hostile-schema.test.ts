import type { JsonObject } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { wireSchema } from "../../src/models/wire-schema.ts";

test("choices that refer to further choices, level after level, cost no more than a bounded effort", () => {
  const $defs: JsonObject = { leaf: { type: "object", properties: { id: { type: "string" } } } };
  for (let level = 0; level < 60; level++) {
    const next = { $ref: `#/$defs/${level === 0 ? "leaf" : `level${level - 1}`}` };
    $defs[`level${level}`] = { type: "object", anyOf: [next, next] };
  }

  const wire = wireSchema({ type: "object", $defs, anyOf: [{ $ref: "#/$defs/level59" }] });

  expect(wire["type"]).toBe("object");
});

test("choices that refer to one another end", () => {
  const $defs = { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { anyOf: [{ $ref: "#/$defs/a" }] } };

  expect(wireSchema({ type: "object", $defs, anyOf: [{ $ref: "#/$defs/a" }] })).toMatchObject({ type: "object" });
});
