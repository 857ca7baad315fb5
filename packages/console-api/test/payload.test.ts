import { expect, test } from "vitest";
import { payloadOf } from "../src/runs/payload.ts";

const LIMIT = 2_048;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

test("a small payload is whole", () => {
  const value = { orders: [1, 2], note: "é".repeat(900) };

  expect(payloadOf(value, LIMIT)).toEqual({ value, truncated: false });
});

test("a long list keeps its first items and the number of the others", () => {
  const orders = Array.from({ length: 1_800 }, (_, id) => ({ id, state: "delivered" }));

  const { value, truncated } = payloadOf({ orders, total: 1_800 }, LIMIT);

  const shown = (value as { orders: unknown[] }).orders;
  expect(truncated).toBe(true);
  expect(shown.slice(0, -1)).toEqual(orders.slice(0, shown.length - 1));
  expect(shown.at(-1)).toBe(`… and ${1_800 - shown.length + 1} more`);
  expect(value).toMatchObject({ total: 1_800 });
  expect(bytesOf(value)).toBeLessThan(LIMIT + 64);
  expect(bytesOf(value)).toBeGreaterThan(LIMIT / 2);
});

test("large properties share the space that small ones leave", () => {
  const { value } = payloadOf({ a: "x".repeat(9_000), id: 7, b: "y".repeat(9_000) }, LIMIT);

  expect(value).toEqual({
    a: expect.stringMatching(/^x{900,1024}…$/),
    id: 7,
    b: expect.stringMatching(/^y{900,1024}…$/),
  });
});

test("an object with many properties keeps the first and the number of the others", () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`name_${i}`, i]));

  const { value } = payloadOf(many, LIMIT);

  const names = Object.keys(value as object);
  expect(value).toMatchObject({ name_0: 0, name_1: 1, "…": `and ${500 - names.length + 1} more` });
  expect(bytesOf(value)).toBeLessThan(LIMIT);
});

test("a large first item is cut within", () => {
  const { value } = payloadOf([{ text: "z".repeat(9_000) }, 1, 2], LIMIT);

  expect(value).toEqual([{ text: expect.stringMatching(/^z{1900,2048}…$/) }, "… and 2 more"]);
});

test("deep values end within the limit", () => {
  let deep: unknown = "w".repeat(9_000);
  for (let depth = 0; depth < 60; depth++) deep = { child: [deep] };

  expect(bytesOf(payloadOf(deep as never, LIMIT).value)).toBeLessThan(2 * LIMIT);
});
