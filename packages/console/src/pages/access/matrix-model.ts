import type { AccessMatrix } from "@patchbay/protocol/console";

export type MatrixRow = AccessMatrix["functions"][number];
export type MatrixCell = MatrixRow["cells"][number];
export type Verdict = MatrixCell["verdict"];

export const VERDICTS = ["allowed", "conditional", "denied"] as const satisfies Verdict[];

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
export function findCell({ functions, roles }: AccessMatrix, key: string | undefined): FoundCell | undefined {
  for (const row of functions)
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
