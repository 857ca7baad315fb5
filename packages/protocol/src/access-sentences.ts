import type { CaseDecision, LockedCell, LockedFunction } from "./access-lock.ts";
import { NO_ROLE } from "./access-surface.ts";

/** One difference between two states of access. */
export interface AccessChange {
  /**
   * `widening`: a role may call or see more than before, or this is no longer known. `unproven`: code or a schema changed, and the
   * comparison cannot decide what follows. `narrowing`: everything else.
   */
  kind: "widening" | "unproven" | "narrowing";
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

/** The changes of roles, with one sentence for all roles that have the same change. */
export function forRoles(
  found: readonly { roles: readonly string[]; changes: readonly RoleChange[] }[],
): AccessChange[] {
  const each = found.flatMap(({ roles, changes }) => changes.map((one) => ({ ...one, roles })));
  return [...Map.groupBy(each, ({ kind, says }) => `${kind} ${says([])}`).values()].map((same) => {
    const { kind, about, says } = same[0]!;
    return change(kind, about, says(same.flatMap(({ roles }) => roles)));
  });
}

/** Functions and roles may have the names of inherited properties. */
export function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The cell of a role. An unknown role has the access of a query without a role. */
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

/** Decisions on a case, from strict to open. */
export const RANK: Record<CaseDecision, number> = { denied: 0, approval: 1, allowed: 2 };

export function hidesOf(cell: LockedCell): string[] {
  return typeof cell === "string" ? [] : Object.keys(cell.members ?? {});
}

/** True if a removed place, or one around it, is `path`. */
export function isRemoved(path: string, removed: readonly string[]): boolean {
  return removed.some((one) => one === "$" || path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[`));
}

const NAMES = 5;

/** All callers of a function as the subject of a sentence. */
export function who(roles: readonly string[]): string {
  // A role list with queries without a role is one for everyone.
  if (roles.length > 1 && roles.includes(NO_ROLE)) return "everyone";
  return subject(roles);
}

/** The same for roles of which it is not known whether others have the change too. */
export function subject(roles: readonly string[]): string {
  return list(roles.map((role) => (role === NO_ROLE ? "a query without a role" : quote(role))));
}

/** The verb of a sentence about roles. */
export const verb = (roles: readonly string[], one: string, more: string): string =>
  roles.length === 1 || roles.includes(NO_ROLE) ? one : more;

export function list(names: readonly string[]): string {
  if (names.length <= NAMES) return names.join(", ");
  return `${names.slice(0, NAMES).join(", ")} and ${names.length - NAMES} more`;
}

/** A name in a sentence. In quotes, with escapes, if it could be read as something else or interpreted by a terminal. */
export function quote(name: string): string {
  if (/^[\w.:\-*[\]@/]{1,100}$/.test(name)) return name;
  return JSON.stringify(name.length <= 100 ? name : `${name.slice(0, 100)}…`);
}
