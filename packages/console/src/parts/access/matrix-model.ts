import { csvCell } from "@patchbay/kit";
import type { AccessMatrix } from "@patchbay/protocol/console";
import { approvalText } from "../../format/approval.ts";

type FunctionAccess = AccessMatrix["functions"][number];

/** What one role may do with a function, and what it did in the last 30 days. */
export interface MatrixCell {
  /** `approval`: a person must approve every call or, as the row says, some calls. `conditional`: only `authorize` decides per call. */
  verdict: "allowed" | "approval" | "conditional" | "denied";
  calls: number;
  denied: number;
  lastAt: string | null;
  /** The listed roles that the role includes, through which it may call the function. */
  from: string[];
  /** The owner's cases with the decision for the role. */
  cases: { name: string; verdict: CaseVerdict }[];
}

const CASE_VERDICTS = ["allowed", "approval", "denied"] as const;
type CaseVerdict = (typeof CASE_VERDICTS)[number];

/** A function with a cell for each role, in the matrix's role order. */
export interface MatrixRow extends Omit<FunctionAccess, "cases"> {
  /** The role list, for sentences. */
  listed: string;
  cells: MatrixCell[];
}

export type Verdict = MatrixCell["verdict"];

export const VERDICTS = ["allowed", "approval", "conditional", "denied"] as const satisfies Verdict[];

/** A matrix's rows. The API sends each role list once, as role indexes; the cells are derived here. */
export function rowsOf({
  functions,
  roles,
  inclusions = [],
}: Pick<AccessMatrix, "functions" | "roles"> & Partial<Pick<AccessMatrix, "inclusions">>): MatrixRow[] {
  const included = new Map(inclusions.map(({ role, includes }) => [role, includes]));
  return functions.map((fn) => {
    const may = new Set(fn.roles === "everyone" ? roles.keys() : fn.roles);
    const figures = new Map(fn.calls.map(({ role, ...figure }) => [role, figure]));
    const cells = roles.map((_role, index): MatrixCell => ({
      verdict: may.has(index) ? verdictOf(fn) : "denied",
      from: (included.get(index) ?? []).flatMap((one) => (may.has(one) && fn.roles !== "everyone" ? roles[one]! : [])),
      ...(figures.get(index) ?? { calls: 0, denied: 0, lastAt: null }),
      cases: fn.cases.flatMap(({ name, ...decided }) => {
        const verdict = CASE_VERDICTS.find((some) => decided[some].includes(index));
        return verdict === undefined ? [] : [{ name, verdict }];
      }),
    }));
    return { ...fn, listed: listOf(fn, roles), cells };
  });
}

function verdictOf({ approval, conditional }: FunctionAccess): Verdict {
  if (approval) return "approval";
  return conditional ? "conditional" : "allowed";
}

/** The verdict as a cell shows it: for an approval, with its approvers and calls. */
export const verdictText = ({ approval }: Pick<MatrixRow, "approval">, { verdict }: Pick<MatrixCell, "verdict">) =>
  verdict === "approval" && approval ? approvalText(approval) : verdict;

const ROLES_IN_A_SENTENCE = 10;

function listOf({ roles: indexes }: FunctionAccess, roles: AccessMatrix["roles"]): string {
  if (indexes === "everyone") return indexes;
  if (indexes.length === 0) return "empty";
  const rest = indexes.length - ROLES_IN_A_SENTENCE;
  const named = indexes.slice(0, ROLES_IN_A_SENTENCE).map((index) => roles[index] ?? "");
  return rest > 0 ? `${named.join(", ")} and ${rest} more` : named.join(", ");
}

/** Why a role may or may not call a function. The control plane has the same sentences for run calls. */
export function whyOf(
  { name, listed, conditional, approval }: MatrixRow,
  { verdict, from }: MatrixCell,
  role: string | null,
): string {
  const subject = role === null ? "a query without a role" : `role ${role}`;
  if (verdict === "denied")
    return `The role list of ${name} (${listed}) does not name ${subject}: the model does not see the function, and calls are denied.`;
  const allowed = `The role list of ${name} (${listed}) lets ${subject} call it${from.length === 0 ? "" : `, which includes ${from.join(", ")}`}`;
  const checks = [
    ...(conditional ? ["its authorize check decides per call"] : []),
    ...(approval ? [approval.conditional ? approvalText(approval) : `every call needs ${approvalText(approval)}`] : []),
  ];
  return `${allowed}, and ${checks.join(", and ") || "only the schema of its arguments is checked per call"}.`;
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

/** The cell for a key; undefined if the function set lacks the function or the role. */
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

/**
 * Functions whose name contains every word in `q` and that have the verdict for the role in `column`, or for any role
 * if it is omitted.
 */
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

/**
 * How many functions have each verdict for the role in `column`. Few services have approvals: without one, they are not
 * counted.
 */
export function countVerdicts(rows: readonly MatrixRow[], column: number) {
  const counts: Record<Exclude<Verdict, "approval">, number> & { approval?: number } = {
    allowed: 0,
    conditional: 0,
    denied: 0,
  };
  for (const { cells } of rows) {
    const cell = cells[column];
    if (cell) counts[cell.verdict] = (counts[cell.verdict] ?? 0) + 1;
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
  return [HEAD, ...lines].map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}
