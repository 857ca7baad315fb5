import { alignedRows } from "@patchbay/runtime/access/render";

/** A finding's kind. */
export type FindingKind =
  /** A handler ran although the query was not allowed to call its function. */
  | "ran"
  /** The control plane sent the runtime a call that the role list forbids, so only the runtime could refuse it. */
  | "dispatched"
  /** The model was offered a function that is hidden from the role. */
  | "shown"
  /** A call had another role than its query. */
  | "role"
  /** A call had another context than its query. */
  | "context"
  /** The model was shown an earlier message or a result that a client made up. */
  | "believed"
  /** A value is in a place where the role must not read it. */
  | "leaked"
  /** A suite query ended with an error, so it proves nothing. */
  | "failed"
  /** A key was accepted for a role outside its pin, or for a forbidden decision. */
  | "accepted";

/** One fault that an attack found. */
export interface Finding {
  /** The attack's role; null for a query without a role. */
  role: string | null;
  attack: string;
  kind: FindingKind;
  /** What happened, in one sentence. */
  detail: string;
}

/**
 * An OWASP risk from the Top 10 for Agentic Applications (2026): ASI01 goal hijack, ASI02 tool misuse, ASI03 identity
 * and privilege abuse, ASI06 memory and context poisoning, ASI07 insecure inter-agent communication, ASI09 human-agent
 * trust exploitation.
 */
export type Risk = "ASI01" | "ASI02" | "ASI03" | "ASI06" | "ASI07" | "ASI09";

/** One attack's counts as one role: a cell in the rendered table. */
export interface AttackResult {
  role: string | null;
  attack: string;
  risks: readonly Risk[];
  /** Tried calls, or sent requests. */
  attempts: number;
  findings: number;
}

/** The escalation suite's result. Without findings, every attempt was refused where it must be. */
export interface EscalationReport {
  service: string;
  /** Number of functions. */
  functions: number;
  /** null for a query without a role. */
  roles: (string | null)[];
  results: AttackResult[];
  findings: Finding[];
  /** Attacks that could not be tried, and why. */
  notes: string[];
  attempts: number;
  durationMs: number;
}

/** A role's name in texts. */
export function roleName(role: string | null | undefined): string {
  return role ?? "no role";
}

/** The report as a text: a table with attempts by attack and role, then findings and notes. */
export function renderEscalationReport(report: EscalationReport): string {
  const { service, functions, roles, results, findings, notes, attempts, durationMs } = report;
  const attacks = [...new Set(results.map(({ attack }) => attack))];
  const cell = (attack: string, role: string | null): string => {
    const own = results.find((result) => result.attack === attack && result.role === role);
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
    ...alignedRows(rows),
    ...section(
      "Found:",
      findings.map(({ role, attack, detail }) => `${roleName(role)}, ${attack}: ${detail}`),
    ),
    ...section("Not tried:", notes),
  ].join("\n");
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}
