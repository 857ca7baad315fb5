import { expect, test } from "vitest";
import { modelFailure, retryAfterMs } from "../src/model-failure.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");

test.each([
  ["seconds", { "retry-after": "20" }, 20_000],
  ["parts of a second", { "retry-after": "0.5" }, 500],
  ["a date", { "retry-after": "Sat, 28 Nov 2026 12:00:30 GMT" }, 30_000],
  ["a date in the past", { "retry-after": "Sat, 28 Nov 2026 11:00:00 GMT" }, 0],
  ["a negative number", { "retry-after": "-5" }, 0],
  ["milliseconds, which come before seconds", { "retry-after-ms": "250", "retry-after": "1" }, 250],
  ["no number and no date", { "retry-after": "soon" }, undefined],
  ["no end", { "retry-after": "Infinity" }, undefined],
  ["nothing", {}, undefined],
])("a provider asks for a wait in %s", (_, headers, expected) => {
  expect(retryAfterMs(new Headers(headers), () => NOW)).toBe(expected);
});

test("a failure has the status of the provider's response, and none when its stream failed", () => {
  const fault = { codes: [], message: "slow down" };

  expect(modelFailure("openai", { ...fault, status: 529 })).toMatchObject({ kind: "overloaded", status: 529 });
  expect(modelFailure("openai", { ...fault, codes: ["overloaded_error"] })).toMatchObject({
    kind: "overloaded",
    status: undefined,
  });
});
