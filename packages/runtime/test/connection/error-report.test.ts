import { ErrorReport } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { reportOf } from "../../src/connection/error-report.ts";

class Loud extends Error {
  override readonly name = "N".repeat(500);
}

const looped = new Error("a");
looped.cause = looped;

test.each<[what: string, thrown: unknown]>([
  ["an error beyond every limit", new Loud("m".repeat(10_000), { cause: new Error("c".repeat(50_000)) })],
  ["an error that causes itself", looped],
  ["a text", "broken"],
  ["undefined", undefined],
  ["an object without a text", Object.create(null)],
  ["an error without a stack", Object.assign(new Error("bare"), { stack: undefined })],
  ["an error with a wrong name", Object.assign(new Error("odd"), { name: 7, message: Symbol("s") })],
])("the report of %s is within the limits of its frame", (_, thrown) => {
  expect(ErrorReport.safeParse(reportOf(thrown)).error).toBeUndefined();
});

test("a report has the stacks of an error and its causes", () => {
  const report = reportOf(new RangeError("outer", { cause: new TypeError("inner") }));

  expect(report).toMatchObject({ name: "RangeError", message: "outer" });
  expect(report.stack).toMatch(/^RangeError: outer\n.*error-report\.test\.ts[^]*\nCaused by: TypeError: inner\n/);
});
