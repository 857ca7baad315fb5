import type { AccessMatrix } from "@patchbay/protocol/console";

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
export function matrixToCsv({ functions, roles }: AccessMatrix): string {
  const lines = functions.flatMap(({ name, effect, protectedMembers, cells }) =>
    cells.map(({ verdict, why, calls, denied, lastAt }, column) => [
      name,
      effect,
      roles[column] ?? "",
      verdict,
      why,
      calls,
      denied,
      lastAt ?? "",
      protectedMembers.join(" "),
    ]),
  );
  return [HEAD, ...lines].map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

/** RFC 4180. Spreadsheets would run a text that begins like a formula; a quote before it keeps it a text. */
function field(value: string | number): string {
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
