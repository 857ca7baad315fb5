import { isRemoved, NO_ROLE } from "@patchbay/access";
import { type AccessMatrix, type Cell, type FunctionRow } from "./matrix.ts";

/** A row of the printed matrix: a function, or below it a case or a restricted field. */
interface Line {
  kind: "function" | "case" | "member";
  label: string;
  cells: string[];
}

/** The matrix as a table for a terminal (default) or as Markdown, with remarks below. */
export function renderMatrix(matrix: AccessMatrix, { format = "text" }: { format?: "text" | "markdown" } = {}): string {
  const columns = matrix.flows ? [...matrix.roles, "flow"] : matrix.roles;
  const lines = matrix.functions.flatMap((row) => linesOf(row, matrix));
  const remarks = remarksOn(matrix);
  const table = format === "text" ? textTable(columns, lines) : markdownTable(columns, lines);
  const rest = remarks.map((remark) => `- ${format === "text" ? remark : escape(remark)}`);
  return [table, ...(rest.length === 0 ? [] : ["", ...rest])].join("\n");
}

function linesOf({ name, flow = "", cells }: FunctionRow, { roles, flows }: AccessMatrix): Line[] {
  const each = (show: (cell: Cell) => string) => roles.map((role) => show(cells[role] ?? { access: "hidden" }));
  const cases = unique(Object.values(cells).flatMap((cell) => Object.keys(casesOf(cell))));
  const members = unique(Object.values(cells).flatMap(hidesOf));
  return [
    { kind: "function", label: name, cells: [...each(accessText), ...(flows ? [flow] : [])] },
    ...cases.map((caseName): Line => {
      const verdict = (cell: Cell) => (Object.hasOwn(casesOf(cell), caseName) ? casesOf(cell)[caseName] : undefined);
      const show = (cell: Cell) => verdict(cell)?.decision ?? "";
      return { kind: "case", label: caseName, cells: each(show) };
    }),
    ...members.map((path): Line => {
      const show = (cell: Cell) =>
        cell.access === "hidden" ? "" : isRemoved(path, new Set(hidesOf(cell))) ? "removed" : "sees";
      return { kind: "member", label: path, cells: each(show) };
    }),
  ];
}

const accessText = (cell: Cell): string =>
  "from" in cell ? `${cell.access} via ${cell.from.join(", ")}` : cell.access;

const INDENT = { function: "", case: "  case ", member: "  member " };

function textTable(columns: readonly string[], lines: readonly Line[]): string {
  const rows = lines.map(({ kind, label, cells }) => [
    `${INDENT[kind]}${label}`,
    ...columns.map((_, column) => cells[column] || " "),
  ]);
  return alignedRows([["function", ...columns], ...rows]).join("\n");
}

/** Rows of equally many cells as lines with aligned columns. */
export function alignedRows(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

function markdownTable(columns: readonly string[], lines: readonly Line[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    row(["function", ...columns.map(escape)]),
    row(["---", ...columns.map(() => "---")]),
    ...lines.map(({ kind, label, cells }) =>
      row([
        kind === "function" ? `\`${escape(label)}\`` : `↳ ${kind} ${escape(label)}`,
        ...columns.map((_, column) => escape(cells[column] ?? "")),
      ]),
    ),
  ].join("\n");
}

function remarksOn({ functions, roleOptions = {}, defaultRole, hooks, flows }: AccessMatrix): string[] {
  const unwatched = functions
    .filter(({ cells }) => Object.values(cells).some((cell) => cell.access === "conditional"))
    .filter(({ cells }) => Object.values(cells).every((cell) => Object.keys(casesOf(cell)).length === 0))
    .map(({ name }) => name);
  const notes = functions.flatMap(({ name, cells }) =>
    Object.entries(cells).flatMap(([role, cell]) =>
      Object.entries(casesOf(cell)).flatMap(([caseName, { note }]) =>
        note === undefined ? [] : [`${role}, case ${caseName} of ${name}: ${note}, so it is denied.`],
      ),
    ),
  );
  const asks = functions.flatMap(({ name, approval, cells }) => {
    if (!approval || Object.values(cells).every(({ access }) => access === "hidden")) return [];
    const which = approval.conditional ? `Some calls of ${name} need` : `A call of ${name} needs`;
    return [`${which} the approval of ${approval.by.join(" or ")}.`];
  });
  return [
    ...Object.entries(roleOptions).flatMap(([role, { includes = [] }]) =>
      includes.length === 0 ? [] : [`${role} includes ${includes.join(", ")}.`],
    ),
    ...(defaultRole === undefined
      ? []
      : [`A query without a role has the role ${defaultRole}. The column ${NO_ROLE} is for unknown roles.`]),
    ...(hooks.length === 0 ? [] : [`Hooks of the service: ${hooks.join(", ")}.`]),
    ...(unwatched.length === 0 ? [] : [`Conditional, without cases: ${unwatched.join(", ")}.`]),
    ...asks,
    ...(flows
      ? [`Data-flow rules: ${flows.mode}${flows.by.length > 0 ? `, decided by ${flows.by.join(" or ")}` : ""}.`]
      : []),
    ...(flows?.holders ?? []).map((held) => {
      const names = [...new Set([...held.untrusted, ...held.private, ...held.outward])];
      return `${held.role} holds untrusted, private and outward: ${names.join(", ")}.`;
    }),
    ...[...Map.groupBy(flows?.pairs ?? [], ({ role }) => role)].map(([role, pairs]) => {
      const open = pairs.filter(({ proof }) => proof === "open");
      const sinks = [...Map.groupBy(open, ({ sink }) => sink)].map(
        ([sink, from]) => `${unique(from.map(({ source }) => source)).join(", ")} → ${sink}`,
      );
      const listed = open.length > 0 ? `: ${sinks.join("; ")}` : "";
      return `${role} has ${pairs.length} pairs of source and sink, ${pairs.length - open.length} proved, ${open.length} open${listed}.`;
    }),
    ...notes,
  ];
}

function casesOf(cell: Cell) {
  return cell.access === "conditional" ? cell.cases : {};
}

function hidesOf(cell: Cell): string[] {
  return cell.access === "hidden" ? [] : cell.hides;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function escape(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
