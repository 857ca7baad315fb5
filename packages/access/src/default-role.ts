import type { AccessLock, LockedCell } from "@patchbay/protocol";
import {
  accessOf,
  type AccessChange,
  casesOf,
  cellFor,
  change,
  hidesOf,
  isHidden,
  isRemoved,
  list,
  own,
  quote,
  RANK,
} from "./sentences.ts";
import { NO_ROLE } from "./surface.ts";
import { TOO_MANY_STEPS } from "@patchbay/schema";
import { type Steps, within } from "@patchbay/kit";

/** Compares the default roles by what a query without a role may do with each function: more, less or both. */
export function compareDefaultRole(before: AccessLock, after: AccessLock, steps: Steps): AccessChange[] {
  const [was, is] = [before.defaultRole, after.defaultRole];
  if (was === is) return [];
  const cellIn = ({ functions, defaultRole }: AccessLock, name: string): LockedCell => {
    const locked = own(functions, name);
    return locked === undefined ? "hidden" : cellFor(locked, defaultRole ?? NO_ROLE);
  };
  const moreIn = (some: AccessLock, others: AccessLock, left: Steps): string[] =>
    Object.keys(some.functions).filter((name) => allowsMore(cellIn(others, name), cellIn(some, name), left));
  const role = is === undefined ? "no role" : `the role ${quote(is)}`;
  const sentence = `a query without a role has ${role}${was === undefined ? "" : ` instead of ${quote(was)}`}`;
  const compare = (left: Steps): AccessChange[] => {
    const [gained, lost] = [moreIn(after, before, left), moreIn(before, after, left)];
    const more = change("widening", "defaultRole", `${sentence}, which may do more with ${list(gained)}`);
    const less = lost.length === 0 ? sentence : `${sentence}, which may do less with ${list(lost)}`;
    return [
      ...(gained.length > 0 ? [more] : []),
      ...(lost.length > 0 || gained.length === 0 ? [change("narrowing", "defaultRole", less)] : []),
    ];
  };
  return within(steps, steps.left / 2, compare, () => [
    change("unproven", "defaultRole", `${sentence}: ${TOO_MANY_STEPS}`),
  ]);
}

function allowsMore(was: LockedCell, is: LockedCell, steps: Steps): boolean {
  if (isHidden(is)) return false;
  if (isHidden(was)) return true;
  const hides = hidesOf(is);
  if (![...hidesOf(was)].every((path) => isRemoved(path, hides, steps))) return true;
  if (accessOf(is) === "allowed") return accessOf(was) === "conditional";
  if (accessOf(was) === "allowed") return false;
  const [old, now] = [casesOf(was), casesOf(is)];
  const both = Object.keys(now).filter((name) => Object.hasOwn(old, name));
  // Without a common case, the decisions of `authorize` for the other role are unknown, so they count as wider.
  return both.length === 0 || both.some((name) => RANK[now[name]!] > RANK[old[name]!]);
}
