import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { roundMoney } from "../money.ts";

test.each([
  [0.125, 0.12],
  [0.375, 0.38],
  [0.625, 0.62],
  [0.875, 0.88],
  [-0.125, -0.12],
  [2.675, 2.67],
  [1.005, 1],
  [2.5, 2.5],
  [8.345, 8.35],
  [1234567.125, 1234567.12],
  [0.1 + 0.2, 0.3],
  [1e22, 1e22],
])("%d is rounded to %d", (value, rounded) => {
  expect(roundMoney(value)).toBe(rounded);
});

test("a negative value that rounds to 0 loses its sign", () => {
  expect(Object.is(roundMoney(-0.001), 0)).toBe(true);
  expect(Object.is(roundMoney(-0), 0)).toBe(true);
});

test("every value rounds to the nearest hundredth of its exact decimal expansion, ties to the even digit", () => {
  const amounts = fc.oneof(
    fc.double({ min: -1e9, max: 1e9, noNaN: true }),
    fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 8),
    fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 1000),
  );
  fc.assert(
    fc.property(amounts, (value) => {
      expect(roundMoney(value)).toBe(Number(exactHundredths(value)) / 100 + 0);
    }),
  );
});

/** The rule in whole numbers: a double is a multiple of 2^-1074. */
function exactHundredths(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.abs(value));
  const raw = bits.getBigUint64(0);
  const exponent = raw >> 52n;
  const mantissa = (raw & 0xfffffffffffffn) + (exponent === 0n ? 0n : 1n << 52n);
  const numerator = 100n * (mantissa << (exponent === 0n ? 0n : exponent - 1n));
  const unit = 1n << 1074n;
  const down = numerator / unit;
  const twice = 2n * (numerator % unit);
  const up = twice > unit || (twice === unit && down % 2n === 1n);
  return (value < 0 ? -1n : 1n) * (down + (up ? 1n : 0n));
}
