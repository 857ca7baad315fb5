import { expect, test } from "vitest";
import { sideBySide, wrap } from "../src/table.ts";
import { columnsOf } from "../src/table.ts";

const lines = (text: string) => text.split("\n");

test("no line is wider than 100 characters, for any number of columns and length of words", () => {
  const columns = Array.from({ length: 11 }, (_, i) => `role_${i}`);
  const rows = [{ name: "f".repeat(64), cells: columns.map((_, i) => `${"long".repeat(i)} and more words than fit`) }];

  const text = sideBySide("function", columns, rows);

  for (const line of lines(text)) expect(line.length).toBeLessThanOrEqual(100);
  for (const column of columns) expect(text).toContain(column);
});

test("every word of a cell is kept, in its own column", () => {
  const text = sideBySide("", ["a", "b"], [{ name: "answer", cells: ["one two three ".repeat(20), "right"] }]);

  const left = lines(text).map((line) => line.replace("answer", "").replace("right", ""));
  expect(left.join(" ").match(/one|two|three/g)).toHaveLength(60);
  expect(lines(text)[1]).toMatch(/^answer +one two .* right$/);
});

test("lines keep their breaks, and control characters are escaped", () => {
  expect(wrap("first\n\u001b[31msecond line", 24)).toEqual(["first", "\\u001b[31msecond line"]);
  expect(wrap("", 5)).toEqual([""]);
  expect(wrap("abcdefghij kl", 4)).toEqual(["abcd", "efgh", "ij", "kl"]);
});

test("a narrow terminal and wide characters are respected", () => {
  const rows = [{ name: "antwort", cells: ["注文は遅れています".repeat(4), "👩‍👩‍👧‍👦".repeat(20)] }];

  const text = sideBySide("", ["客", "guest"], rows, 40);

  for (const line of lines(text)) expect(columnsOf(line)).toBeLessThanOrEqual(40);
  expect(text.match(/注/g)).toHaveLength(4);
});
