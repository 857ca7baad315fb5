import type { AccessMatrix } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import {
  cellKey,
  countVerdicts,
  findCell,
  findRows,
  matrixToCsv,
  rowsOf,
  type Verdict,
  verdictText,
  whyOf,
} from "../../src/parts/access/matrix-model.ts";

const matrix: AccessMatrix = {
  manifestHash: "abc",
  connected: true,
  defaultRole: null,
  roles: [null, "-", "agent"],
  rolesOmitted: 0,
  inclusions: [],
  functions: [
    {
      name: "get_order",
      effect: "read",
      restrictedFields: ["card", "notes"],
      roles: "everyone",
      conditional: false,
      cases: [],
      calls: [],
    },
    {
      name: "cancel_order",
      effect: "destructive",
      restrictedFields: [],
      roles: [2],
      conditional: true,
      cases: [
        { name: "own", allowed: [2], approval: [], denied: [] },
        { name: "foreign", allowed: [], approval: [], denied: [2] },
        { name: "other", allowed: [], approval: [1], denied: [] },
      ],
      calls: [{ role: 2, calls: 3, denied: 1, lastAt: "2026-01-02T03:04:05.000Z" }],
    },
  ],
  callsOmitted: false,
  casesOmitted: 0,
  flowFaults: [],
};
const rows = rowsOf(matrix);

test("a cell names the listed roles through which its role has the access, and so does the reason", () => {
  const roles = [null, "agent", "lead", "chief"];
  const inclusions = [
    { role: 2, includes: [1] },
    { role: 3, includes: [2, 1] },
  ];
  const [open, listed] = rowsOf({
    functions: matrix.functions.map((fn) => (fn.roles === "everyone" ? fn : { ...fn, roles: [1, 2, 3], cases: [] })),
    roles,
    inclusions,
  });

  expect(open!.cells.map(({ from }) => from)).toEqual([[], [], [], []]);
  expect(listed!.cells.map(({ from }) => from)).toEqual([[], [], ["agent"], ["lead", "agent"]]);
  expect(whyOf(listed!, listed!.cells[3]!, "chief")).toContain(
    "lets role chief call it, which includes lead, agent, and",
  );
});

test("a cell has the cases that were decided for its role, and the CSV names them", () => {
  expect(rows[1]!.cells.map(({ cases }) => cases)).toEqual([
    [],
    [{ name: "other", verdict: "approval" }],
    [
      { name: "own", verdict: "allowed" },
      { name: "foreign", verdict: "denied" },
    ],
  ]);
  expect(matrixToCsv(matrix)).toContain(",own: allowed; foreign: denied\r\n");
});

test("verdicts follow from the role list, and cells with calls have counts", () => {
  expect(rows.map(({ cells }) => cells.map(({ verdict }) => verdict))).toEqual([
    ["allowed", "allowed", "allowed"],
    ["denied", "denied", "conditional"],
  ]);
  expect(rows[1]!.cells[2]).toMatchObject({ calls: 3, denied: 1, lastAt: "2026-01-02T03:04:05.000Z" });
  expect(rows[1]!.cells[1]).toMatchObject({ calls: 0, denied: 0, lastAt: null });
});

test("the reason names the role list and the role, and cuts a long list", () => {
  const why = (row: number, column: number) =>
    whyOf(rows[row]!, rows[row]!.cells[column]!, matrix.roles[column] ?? null);
  expect(why(0, 0)).toMatch(/^The role list of get_order \(everyone\) lets a query without a role call it,/);
  expect(why(1, 2)).toMatch(/\(agent\) lets role agent call it, and its authorize check decides/);
  expect(why(1, 1)).toMatch(/\(agent\) does not name role -:/);

  const many = { ...matrix, roles: [null, ...Array.from({ length: 100 }, (_, i) => `r${i}`)] };
  const [long] = rowsOf({ ...many, functions: [{ ...matrix.functions[1]!, roles: [...many.roles.keys()].slice(1) }] });
  expect(whyOf(long!, long!.cells[0]!, null)).toContain("r8, r9 and 90 more");
  const [none] = rowsOf({ ...many, functions: [{ ...matrix.functions[1]!, roles: [] }] });
  expect(whyOf(none!, none!.cells[1]!, "r0")).toContain("(empty)");
});

test("a cell is found by its key, even if a role is named like the key of queries without one", () => {
  const none = findCell(rows, matrix.roles, cellKey("get_order", null));
  const dash = findCell(rows, matrix.roles, cellKey("get_order", "-"));

  expect(none).toMatchObject({ role: null, row: { name: "get_order" } });
  expect(dash).toMatchObject({ role: "-", row: { name: "get_order" } });
});

test("keys of functions and roles that the set lacks find no cell", () => {
  expect(findCell(rows, matrix.roles, "get_order:manager")).toBeUndefined();
  expect(findCell(rows, matrix.roles, undefined)).toBeUndefined();
});

test("functions are found by all words of the search, in any case", () => {
  const names = (q: string) => findRows(rows, { q }).map(({ name }) => name);

  expect(names("ORDER get")).toEqual(["get_order"]);
  expect(names("order refund")).toEqual([]);
});

test("a verdict filter applies to one role's column, or to any column", () => {
  const names = (verdict: Verdict, column?: number) => findRows(rows, { verdict, column }).map(({ name }) => name);

  expect(names("denied", 2)).toEqual([]);
  expect(names("denied")).toEqual(["cancel_order"]);
  expect(names("allowed", 2)).toEqual(["get_order"]);
});

test("verdicts of a role are counted", () => {
  expect(countVerdicts(rows, 2)).toEqual({ allowed: 1, conditional: 1, denied: 0 });
});

test("the CSV has one line per function and role, and quotes fields with commas", () => {
  const lines = matrixToCsv(matrix).split("\r\n");

  expect(lines).toHaveLength(1 + 6 + 1);
  expect(lines[3]).toMatch(/^get_order,read,agent,allowed,"The role list of get_order .*",0,0,,card notes,$/);
  expect(lines[6]).toMatch(/^cancel_order,.*,3,1,2026-01-02T03:04:05\.000Z,,own: allowed; foreign: denied$/);
});

test("an approval is a verdict of its own, which says by whom and whether of every call", () => {
  const refund = { ...matrix.functions[1]!, name: "refund", conditional: false };
  const functions = [
    { ...refund, approval: { by: ["manager", "lead"], conditional: false } },
    { ...refund, conditional: true, approval: { by: ["manager"], conditional: true } },
  ];
  const [always, some] = rowsOf({ ...matrix, functions });
  const shown = [always!, some!].map((row) => row.cells.map((cell) => verdictText(row, cell)));

  expect(shown).toEqual([
    ["denied", "denied", "approval by manager, lead"],
    ["denied", "denied", "some calls need approval by manager"],
  ]);
  expect(whyOf(always!, always!.cells[2]!, "agent")).toMatch(
    /lets role agent call it, and every call needs approval by manager, lead\.$/,
  );
  expect(whyOf(some!, some!.cells[2]!, "agent")).toMatch(
    /and its authorize check decides per call, and some calls need approval by manager\.$/,
  );
  expect(countVerdicts([always!, some!], 2)).toEqual({ allowed: 0, approval: 2, conditional: 0, denied: 0 });
  expect(findRows([always!, some!, ...rows], { verdict: "approval" })).toEqual([always, some]);
  expect(matrixToCsv({ ...matrix, functions })).toMatch(/refund,destructive,agent,approval,".*approval by manager/);
});

test("a role that starts like a formula is escaped for spreadsheets", () => {
  const lines = matrixToCsv(matrix).split("\r\n");

  expect(lines[2]).toContain(",'-,");
});
