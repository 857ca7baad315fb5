import type { AccessMatrix } from "@patchbay/protocol/console";
import { rowsOf, whyOf } from "./matrix-model.ts";

const HEAD = [
  "function",
  "effect",
  "role",
  "verdict",
  "why",
  "calls_30_days",
  "denied_30_days",
  "last_at",
  "protected_members",
];

/** A line for each function and role; the role of queries without one is empty. */
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
        row.protectedMembers.join(" "),
      ];
    }),
  );
  return [HEAD, ...lines].map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

/** RFC 4180. Spreadsheets would run a text that begins like a formula; a quote before it keeps it a text. */
function field(value: string | number): string {
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
