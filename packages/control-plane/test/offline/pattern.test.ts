import { array, assert, constantFrom, property, string, tuple } from "fast-check";
import { expect, test } from "vitest";
import { fitsPattern } from "../../src/models/offline/pattern.ts";

test.each([
  ["^#W\\d{7}$", "#W2378156", true],
  ["^#W\\d{7}$", "#W237815", false],
  ["^#W\\d{7}$", "x#W2378156", false],
  ["\\d+", "order 12", true],
  ["\\d+", "order", false],
  ["^[a-z]+_[a-z]+_\\d{4}$", "sara_doe_0496", true],
  ["^[a-z]+_[a-z]+_\\d{4}$", "sara_doe_49", false],
  ["^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$", "a@example.com", true],
  ["^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$", "example.com", false],
  ["^credit_card_\\w*$", "paypal_1", false],
  ["^a?b{2,3}$", "bbbb", false],
  ["^price \\$$", "price $", true],
  ["^(cat|dog)$", "bird", true],
  ["\\p{Lu}", "x", true],
])("%j and %j: %j", (pattern, text, fits) => {
  expect(fitsPattern(pattern, text)).toBe(fits);
});

test("a pattern made to take for ever takes no time", () => {
  const started = performance.now();

  fitsPattern("^(a+)+$", `${"a".repeat(400)}!`);
  fitsPattern(`^${"a*".repeat(100)}b$`, "a".repeat(500));

  expect(performance.now() - started).toBeLessThan(500);
});

test("where it judges, it judges as the language's own engine does", () => {
  const atom = constantFrom("a", "b", "7", "\\d", "\\w", "\\S", ".", "[ab]", "[^a]", "[a-c7]", "\\.", "[\\d-]");
  const count = constantFrom("", "*", "+", "?", "{2}", "{1,3}", "{2,}", "+?");
  const body = array(tuple(atom, count), { maxLength: 5 }).map((parts) => parts.flat().join(""));
  const pattern = tuple(constantFrom("", "^"), body, constantFrom("", "$")).map((parts) => parts.join(""));
  const text = string({ unit: constantFrom("a", "b", "c", "7", ".", "-", " "), maxLength: 8 });

  assert(
    property(pattern, text, (source, value) => fitsPattern(source, value) === new RegExp(source, "u").test(value)),
    { numRuns: 3_000 },
  );
});
