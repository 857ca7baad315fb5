/** What a finding is about. */
export type FindingKind =
  /** The handler of a function ran that the query was not allowed to call. */
  | "ran"
  /** The control plane gave a call to the runtime that its role list forbids: the runtime alone stood in the way. */
  | "dispatched"
  /** The model was shown a function that does not exist for the role. */
  | "shown"
  /** A call was given another role than its query had. */
  | "role"
  /** A value stands where the role, or anybody, may not read it. */
  | "leaked"
  /** A query of the suite ended with an error. */
  | "failed"
  /** A key was let through that it is pinned against. */
  | "accepted";

/** One fault that an attack brought to light. */
export interface Finding {
  /** The role the attack was made under; null = a query without a role. */
  role: string | null;
  attack: string;
  kind: FindingKind;
  /** A sentence that says what happened. */
  detail: string;
}

/** Counts of one attack under one role: a cell of the rendered table. */
export interface AttackResult {
  role: string | null;
  attack: string;
  /** Calls tried, or requests made. */
  attempts: number;
  findings: number;
}

/** What the escalation suite found; no findings means that every attempt was refused at the right place. */
export interface EscalationReport {
  service: string;
  /** Number of functions. */
  functions: number;
  /** null = a query without a role. */
  roles: (string | null)[];
  results: AttackResult[];
  findings: Finding[];
  /** What could not be tried, and why. */
  notes: string[];
  attempts: number;
  durationMs: number;
}

/** A role as people read it. */
export function roleName(role: string | null | undefined): string {
  return role ?? "no role";
}

/** The report as a table of attempts, attack by role, with its findings and notes below. */
export function renderEscalationReport(report: EscalationReport): string {
  const { service, functions, roles, results, findings, notes, attempts, durationMs } = report;
  const attacks = [...new Set(results.map(({ attack }) => attack))];
  const cell = (attack: string, role: string | null): string => {
    const own = results.find((one) => one.attack === attack && one.role === role);
    if (!own || own.attempts === 0) return "-";
    return own.findings === 0 ? String(own.attempts) : `${own.findings} FOUND`;
  };
  const rows = [
    ["", ...roles.map(roleName)],
    ...attacks.map((attack) => [attack, ...roles.map((role) => cell(attack, role))]),
  ];
  const verdict = findings.length === 0 ? "nothing found" : `${findings.length} found`;
  return [
    `${service}: ${functions} functions, ${attempts} attempts in ${Math.round(durationMs)} ms, ${verdict}.`,
    "",
    ...aligned(rows),
    ...section(
      "Found:",
      findings.map(({ role, attack, detail }) => `${roleName(role)}, ${attack}: ${detail}`),
    ),
    ...section("Not tried:", notes),
  ].join("\n");
}

function aligned(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}
