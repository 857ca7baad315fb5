import { expect, test } from "vitest";
import { oncePer } from "../src/index.ts";

test("a value is computed once for each object, and again for an equal one", () => {
  const computed: object[] = [];
  const sizeOf = oncePer((list: readonly number[]) => computed.push(list) && list.length);
  const list = [1, 2];

  expect([sizeOf(list), sizeOf(list), sizeOf([1, 2])]).toEqual([2, 2, 2]);
  expect(computed).toHaveLength(2);
});
