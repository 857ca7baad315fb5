import type { AccessMatrix } from "@patchbay/protocol/console";

type FunctionAccess = AccessMatrix["functions"][number];

/** What one role may do with a function, and what it did in the last 30 days. */
export interface MatrixCell {
  verdict: "allowed" | "conditional" | "denied";
  calls: number;
  denied: number;
  lastAt: string | null;
  /** The owner's cases with the decision for the role. */
  cases: { name: string; verdict: CaseVerdict }[];
}

const CASE_VERDICTS = ["allowed", "approval", "denied"] as const;
type CaseVerdict = (typeof CASE_VERDICTS)[number];

/** A function with a cell for each role, in the order of the matrix's roles. */
export interface MatrixRow extends Omit<FunctionAccess, "cases"> {
  /** The role list, for sentences. */
  listed: string;
  cells: MatrixCell[];
}

export type Verdict = MatrixCell["verdict"];

export const VERDICTS = ["allowed", "conditional", "denied"] as const satisfies Verdict[];

/** The rows of a matrix. The API sends each role list once, as indexes of roles; the cells are derived here. */
export function rowsOf({ functions, roles }: Pick<AccessMatrix, "functions" | "roles">): MatrixRow[] {
  return functions.map((one) => {
    const may = new Set(one.roles === "everyone" ? roles.keys() : one.roles);
    const figures = new Map(one.calls.map(({ role, ...figure }) => [role, figure]));
    const cells = roles.map((_role, index): MatrixCell => ({
      verdict: !may.has(index) ? "denied" : one.conditional ? "conditional" : "allowed",
      ...(figures.get(index) ?? { calls: 0, denied: 0, lastAt: null }),
      cases: one.cases.flatMap(({ name, ...decided }) => {
        const verdict = CASE_VERDICTS.find((some) => decided[some].includes(index));
        return verdict === undefined ? [] : [{ name, verdict }];
      }),
    }));
    return { ...one, listed: listOf(one, roles), cells };
  });
}

const ROLES_IN_A_SENTENCE = 10;

function listOf({ roles: indexes }: FunctionAccess, roles: AccessMatrix["roles"]): string {
  if (indexes === "everyone") return indexes;
  if (indexes.length === 0) return "empty";
  const rest = indexes.length - ROLES_IN_A_SENTENCE;
  const named = indexes.slice(0, ROLES_IN_A_SENTENCE).map((index) => roles[index] ?? "");
  return rest > 0 ? `${named.join(", ")} and ${rest} more` : named.join(", ");
}

/** Why a role may or may not call a function. The control plane has the same sentences for the calls of runs. */
export function whyOf({ name, listed }: MatrixRow, { verdict }: MatrixCell, role: string | null): string {
  const subject = role === null ? "a query without a role" : `role ${role}`;
  if (verdict === "denied")
    return `The role list of ${name} (${listed}) does not name ${subject}: the model does not see the function, and calls are denied.`;
  const allowed = `The role list of ${name} (${listed}) lets ${subject} call it`;
  return verdict === "conditional"
    ? `${allowed}, and its authorize check decides per call.`
    : `${allowed}, and only the schema of its arguments is checked per call.`;
}

/** A role in the URL. `-` means "no role"; a role that starts with `-` gets a second one, so that the two cannot be confused. */
export const roleKey = (role: string | null): string =>
  role === null ? "-" : role.startsWith("-") ? `-${role}` : role;

/** A cell in the URL. */
export const cellKey = (functionName: string, role: string | null): string => `${functionName}:${roleKey(role)}`;

export const roleLabel = (role: string | null): string => role ?? "no role";

export interface FoundCell {
  row: MatrixRow;
  cell: MatrixCell;
  role: string | null;
}

/** The cell of a key; undefined if the function set lacks the function or the role. */
export function findCell(
  rows: readonly MatrixRow[],
  roles: AccessMatrix["roles"],
  key: string | undefined,
): FoundCell | undefined {
  for (const row of rows)
    for (const [column, role] of roles.entries()) {
      const cell = row.cells[column];
      if (cell && cellKey(row.name, role) === key) return { row, cell, role };
    }
  return undefined;
}

/** Functions whose name contains every word of `q` and that have the verdict for the role of `column`, or for any role if it is omitted. */
export function findRows(
  rows: readonly MatrixRow[],
  { q = "", verdict, column }: { q?: string | undefined; verdict?: Verdict | undefined; column?: number | undefined },
): MatrixRow[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ name, cells }) => {
    const judged = column === undefined ? cells : cells.slice(column, column + 1);
    return (
      words.every((word) => name.toLowerCase().includes(word)) &&
      (verdict === undefined || judged.some((cell) => cell.verdict === verdict))
    );
  });
}

/** How many functions have each verdict for the role of `column`. */
export function countVerdicts(rows: readonly MatrixRow[], column: number): Record<Verdict, number> {
  const counts = { allowed: 0, conditional: 0, denied: 0 };
  for (const { cells } of rows) {
    const cell = cells[column];
    if (cell) counts[cell.verdict] += 1;
  }
  return counts;
}

const HEAD = [
  "function",
  "effect",
  "role",
  "verdict",
  "why",
  "calls_30_days",
  "denied_30_days",
  "last_at",
  "restricted_fields",
  "cases",
];

/** One line per function and role; the role is empty for queries without one. */
export function matrixToCsv(matrix: AccessMatrix): string {
  const lines = rowsOf(matrix).flatMap((row) =>
    row.cells.map((cell, column) => {
      const role = matrix.roles[column] ?? null;
      return [
        row.name,
        row.effect,
        role ?? "",
        cell.verdict,
        whyOf(row, cell, role),
        cell.calls,
        cell.denied,
        cell.lastAt ?? "",
        row.restrictedFields.join(" "),
        cell.cases.map(({ name, verdict }) => `${name}: ${verdict}`).join("; "),
      ];
    }),
  );
  return [HEAD, ...lines].map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

/** Quotes by RFC 4180. A leading quote keeps spreadsheets from running text that starts like a formula. */
function field(value: string | number): string {
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
