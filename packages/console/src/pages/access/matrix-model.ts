import type { AccessMatrix } from "@patchbay/protocol/console";

type FunctionAccess = AccessMatrix["functions"][number];

/** What one role may do with a function, and what it did in the last 30 days. */
export interface MatrixCell {
  verdict: "allowed" | "conditional" | "denied";
  calls: number;
  denied: number;
  lastAt: string | null;
}

/** A function with a cell for each role, in the order of the matrix's roles. */
export interface MatrixRow extends FunctionAccess {
  /** The role list, for sentences. */
  listed: string;
  cells: MatrixCell[];
}

export type Verdict = MatrixCell["verdict"];

export const VERDICTS = ["allowed", "conditional", "denied"] as const satisfies Verdict[];

/** The rows of a matrix. The service sends each role list once; the cells follow from it. */
export function rowsOf({ functions, roles }: Pick<AccessMatrix, "functions" | "roles">): MatrixRow[] {
  return functions.map((one) => {
    const may = new Set(one.roles === "everyone" ? roles.keys() : one.roles);
    const figures = new Map(one.calls.map(({ role, ...figure }) => [role, figure]));
    const cells = roles.map((_role, index): MatrixCell => ({
      verdict: !may.has(index) ? "denied" : one.conditional ? "conditional" : "allowed",
      ...(figures.get(index) ?? { calls: 0, denied: 0, lastAt: null }),
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

/** Why a role may or may not call a function, as its role list says. */
export function whyOf({ name, listed }: MatrixRow, { verdict }: MatrixCell, role: string | null): string {
  const subject = role === null ? "a query without a role" : `role ${role}`;
  if (verdict === "denied")
    return `The role list of ${name} is ${listed}: the function does not exist for ${subject}. The model does not see it, and a call of it is refused.`;
  const allowed = `The role list of ${name} (${listed}) lets ${subject} call it`;
  return verdict === "conditional"
    ? `${allowed}, and the owner's authorize decides call by call.`
    : `${allowed}, and only the schema of its arguments decides call by call.`;
}

/** How a role stands in the URL: `-` is for queries without one, and a role that begins so gets another. */
export const roleKey = (role: string | null): string =>
  role === null ? "-" : role.startsWith("-") ? `-${role}` : role;

/** How a cell stands in the URL. */
export const cellKey = (functionName: string, role: string | null): string => `${functionName}:${roleKey(role)}`;

export const roleLabel = (role: string | null): string => role ?? "no role";

export interface FoundCell {
  row: MatrixRow;
  cell: MatrixCell;
  role: string | null;
}

/** The cell of a key; undefined where the set has no such function or role. */
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

/** Functions whose name has the words, with the verdict for the role of `column`, or for any role without one. */
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
