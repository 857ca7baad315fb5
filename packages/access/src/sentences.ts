import type { CaseDecision, LockedCell, LockedFunction } from "@patchbay/protocol";
import { NO_ROLE } from "./surface.ts";
import { type Steps, takeSteps, UNLIMITED } from "@patchbay/kit";

/** One difference between two access states. */
export interface AccessChange {
  /**
   * `widening`: a role may call or see more than before, or this is no longer known. `unproven`: code or a schema changed, and the
   * comparison cannot decide what follows. `changed`: what informs models and people, and decides nothing. `narrowing`: everything else.
   */
  kind: "widening" | "unproven" | "changed" | "narrowing";
  about:
    | "function"
    | "roles"
    | "authorize"
    | "cases"
    | "approval"
    | "effect"
    | "redaction"
    | "input"
    | "output"
    | "context"
    | "defaultRole"
    | "subject"
    | "hook"
    | "parsing"
    | "flow"
    | "modelContext"
    | "text"
    | "lock";
  /** Absent if the change affects the whole service. */
  functionName?: string;
  /** Such as `customer gained cancel_order`. */
  sentence: string;
}

export const change = (kind: AccessChange["kind"], about: AccessChange["about"], sentence: string): AccessChange => ({
  kind,
  about,
  sentence,
});

/** A change for one role. `says` gets all roles that have it. */
export interface RoleChange extends Pick<AccessChange, "kind" | "about"> {
  says: (roles: readonly string[]) => string;
}

/** Role changes, with one sentence for all roles that have the same change. */
export function forRoles(
  found: readonly { roles: readonly string[]; changes: readonly RoleChange[] }[],
): AccessChange[] {
  const each = found.flatMap(({ roles, changes }) => changes.map((difference) => ({ ...difference, roles })));
  return [...Map.groupBy(each, ({ kind, says }) => `${kind} ${says([])}`).values()].map((same) => {
    const { kind, about, says } = same[0]!;
    return change(kind, about, says(same.flatMap(({ roles }) => roles)));
  });
}

/** Functions and roles may have the names of inherited properties. */
export function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** A role's cell. An unknown role has the same access as a query without a role. */
export function cellFor({ roles }: LockedFunction, role: string): LockedCell {
  return own(roles, role) ?? own(roles, NO_ROLE) ?? "hidden";
}

export function accessOf(cell: LockedCell): "allowed" | "hidden" | "conditional" {
  return typeof cell === "string" ? cell : cell.access;
}

export const isHidden = (cell: LockedCell): boolean => accessOf(cell) === "hidden";

export function casesOf(cell: LockedCell): Record<string, CaseDecision> {
  return typeof cell !== "string" && cell.access === "conditional" ? cell.cases : {};
}

/** The approval that the function's calls need, as a sentence ending. Earlier lock versions do not contain it. */
export function asks({ approval }: LockedFunction): string {
  if (!approval) return "";
  return `; ${approval.conditional ? "some calls" : "calls"} need ${approvalBy(approval)}`;
}

export const approvalBy = ({ by }: { by: readonly string[] }): string => `approval by ${list(by.map(quote))}`;

/** Decisions on a case, from strict to open. */
export const RANK: Record<CaseDecision, number> = { denied: 0, approval: 1, allowed: 2 };

export function hidesOf(cell: LockedCell): ReadonlySet<string> {
  return new Set(typeof cell === "string" ? [] : Object.keys(cell.members ?? {}));
}

const CHARACTERS_OF_STEP = 8;
const STEPS_OF_PATH = 5;

/** True if a removed place, or one around it, is `path`. Throws `TooManySteps`. */
export function isRemoved(path: string, removed: ReadonlySet<string>, steps: Steps = UNLIMITED): boolean {
  takeSteps(steps, STEPS_OF_PATH + path.length / CHARACTERS_OF_STEP);
  if (removed.has("$") || removed.has(path)) return true;
  for (const { index } of path.matchAll(/[.[]/g)) {
    takeSteps(steps, STEPS_OF_PATH + index / CHARACTERS_OF_STEP);
    if (removed.has(path.slice(0, index))) return true;
  }
  return false;
}

const NAMES = 5;

/** All callers of a function as the subject of a sentence. */
export function who(roles: readonly string[]): string {
  // A role list that allows queries without a role allows everyone.
  if (roles.length > 1 && roles.includes(NO_ROLE)) return "everyone";
  return subject(roles);
}

/** The same where other roles may have the change too. */
export function subject(roles: readonly string[]): string {
  return list(roles.map((role) => (role === NO_ROLE ? "a query without a role" : quote(role))));
}

/** The verb for a sentence about roles. */
export const verb = (roles: readonly string[], single: string, more: string): string =>
  roles.length === 1 || roles.includes(NO_ROLE) ? single : more;

export function list(names: readonly string[]): string {
  if (names.length <= NAMES) return names.join(", ");
  return `${names.slice(0, NAMES).join(", ")} and ${names.length - NAMES} more`;
}

/** A name in a sentence. Quoted, with escapes, if a reader or a terminal could misread it. */
export function quote(name: string): string {
  if (/^[\w.:\-*[\]@/]{1,100}$/.test(name)) return name;
  return JSON.stringify(name.length <= 100 ? name : `${name.slice(0, 100)}…`);
}
