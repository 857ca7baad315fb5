import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { TITLED_CHARS, titleIn, titleOf } from "../src/threads/thread-roles.ts";

test("the beginning of a stored request contains the whole title of its thread", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (query) => {
      const stored = JSON.stringify({ query, context: { query: "another" } }).slice(1);
      expect(titleIn(stored.slice(0, TITLED_CHARS))).toBe(titleOf({ query }));
    }),
  );
});

test("a title of characters that are all escaped is whole", () => {
  const query = "\u0001".repeat(100);

  expect(titleIn(JSON.stringify({ query }).slice(1, TITLED_CHARS + 1))).toBe("\u0001".repeat(80));
});
