import { expect, test } from "vitest";
import { calculate } from "../calculate.ts";

test.each([
  ["1 + 2 * 3", 7],
  ["(1 + 2) * 3", 9],
  ["10 - 4 - 3", 3],
  ["100 / 10 / 5", 2],
  ["2 * -3", -6],
  ["--5 + +1", 6],
  ["-(2 + 3) * 2", -10],
  [".5 + 5.", 5.5],
  ["  12.50  ", 12.5],
  ["0.125", 0.12],
  ["0.375", 0.38],
  ["2.675", 2.67],
  ["10 / 3", 3.33],
  ["0 * -1", 0],
  [`${"(".repeat(500)}1${")".repeat(500)}`, 1],
])("%s is %d", (expression, value) => {
  expect(calculate(expression)).toBe(value);
});

test.each(["1,000", "2 ^ 3", "one", "$5", "1\t+ 1", "1\n", "1e3", "process.exit()"])(
  "%j has characters that no expression has",
  (expression) => {
    expect(() => calculate(expression)).toThrow(/^invalid characters in expression$/);
  },
);

test.each(["1 / 0", "1 / (2 - 2)", "0 / 0", "5 / 0.0 + 1"])("%s divides by zero", (expression) => {
  expect(() => calculate(expression)).toThrow(/^division by zero$/);
});

test.each([
  "",
  "   ",
  "1 +",
  "* 2",
  "1 2",
  "(1",
  "1)",
  "()",
  "2(3)",
  "1..2",
  "1.2.3",
  ".",
  "2 ** 3",
  "7 // 2",
  "1 / 0 +",
  "9".repeat(400),
  "(".repeat(50_000),
])("%j is not an expression", (expression) => {
  expect(() => calculate(expression)).toThrow(/^invalid syntax/);
});
