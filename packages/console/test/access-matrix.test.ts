import type { AccessMatrix } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { matrixToCsv } from "../src/pages/access/export-matrix.ts";
import { cellKey, countVerdicts, findCell, findRows } from "../src/pages/access/matrix-model.ts";

const cell = (verdict: "allowed" | "conditional" | "denied", why = verdict as string) => ({
  verdict,
  why,
  calls: 0,
  denied: 0,
  lastAt: null,
});

const matrix: AccessMatrix = {
  manifestHash: "abc",
  connected: true,
  defaultRole: null,
  roles: [null, "-", "agent"],
  functions: [
    {
      name: "get_order",
      effect: "read",
      protectedMembers: ["card", "notes"],
      cells: [cell("denied"), cell("conditional"), cell("allowed")],
    },
    {
      name: "cancel_order",
      effect: "destructive",
      protectedMembers: [],
      cells: [cell("denied", 'no, "never"'), cell("denied"), cell("conditional")],
    },
  ],
};

test("a cell is found by its key, also where a role is named like the mark of none", () => {
  const none = findCell(matrix, cellKey("get_order", null));
  const dash = findCell(matrix, cellKey("get_order", "-"));

  expect(none).toMatchObject({ role: null, cell: { verdict: "denied" } });
  expect(dash).toMatchObject({ role: "-", cell: { verdict: "conditional" } });
});

test("keys of functions and roles that are not in the set find nothing", () => {
  expect(findCell(matrix, "get_order:manager")).toBeUndefined();
  expect(findCell(matrix, undefined)).toBeUndefined();
});

test("functions are found by all words of the search, in any case", () => {
  const names = (q: string) => findRows(matrix.functions, { q }).map(({ name }) => name);

  expect(names("ORDER get")).toEqual(["get_order"]);
  expect(names("order refund")).toEqual([]);
});

test("a verdict is looked for in one role's column, or in any", () => {
  const names = (column?: number) =>
    findRows(matrix.functions, { verdict: "conditional", column }).map(({ name }) => name);

  expect(names(2)).toEqual(["cancel_order"]);
  expect(names()).toEqual(["get_order", "cancel_order"]);
});

test("verdicts of a role are counted", () => {
  expect(countVerdicts(matrix.functions, 2)).toEqual({ allowed: 1, conditional: 1, denied: 0 });
});

test("the CSV has a line for each function and role, and quotes what needs it", () => {
  const lines = matrixToCsv(matrix).split("\r\n");

  expect(lines).toHaveLength(1 + 6 + 1);
  expect(lines[3]).toBe("get_order,read,agent,allowed,allowed,0,0,,card notes");
  expect(lines[4]).toBe('cancel_order,destructive,,denied,"no, ""never""",0,0,,');
});

test("a role that begins like a formula stays a text in spreadsheets", () => {
  const lines = matrixToCsv(matrix).split("\r\n");

  expect(lines[2]).toContain(",'-,");
});
