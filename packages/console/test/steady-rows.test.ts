import { expect, test } from "vitest";
import { steadied } from "../src/ui/table/steady-rows.ts";

const rowsOf = (names: string, value = 1) => names.split("").map((name) => ({ name, value }));
const nameOf = ({ name }: { name: string }) => name;
const update = (before: string, now: string, hasMore = true) => {
  const { rows, ...rest } = steadied(rowsOf(before), rowsOf(now, 2), { rowKey: nameOf, hasMore });
  return { rows: rows?.map(nameOf).join(""), ...rest };
};

test("new rows wait, and those that they displace from the page stay", () => {
  expect(update("cba", "edcb")).toEqual({ rows: "cba", added: 2, moved: false });
  expect(update("cba", "fed")).toEqual({ rows: "cba", added: 3, moved: false });
});

test("rows change their values in their places", () => {
  const { rows } = steadied(rowsOf("cb"), rowsOf("dcb", 2), { rowKey: nameOf, hasMore: true });
  expect(rows).toEqual(rowsOf("cb", 2));
  expect(update("cba", "acb")).toEqual({ rows: "cba", added: 0, moved: true });
});

test("rows that the list no longer has leave, and more that are loaded follow", () => {
  expect(update("dcba", "dca")).toEqual({ rows: "dca", added: 0, moved: false });
  expect(update("dcba", "ed")).toEqual({ rows: "dcba", added: 1, moved: false });
  expect(update("dc", "edcba")).toEqual({ rows: "dcba", added: 1, moved: false });
});

test("rows leave a complete list also when new ones have arrived", () => {
  expect(update("cba", "dc", false)).toEqual({ rows: "c", added: 1, moved: false });
  expect(update("cba", "d", false)).toEqual({ rows: "d", added: 0, moved: false });
});

test("an empty list shows its first rows", () => {
  expect(update("", "ba")).toEqual({ rows: "ba", added: 0, moved: false });
  expect(update("ba", "")).toEqual({ rows: "", added: 0, moved: false });
});
