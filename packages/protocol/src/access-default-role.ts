import type { AccessLock, LockedCell } from "./access-lock.ts";
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
} from "./access-sentences.ts";
import { NO_ROLE } from "./access-surface.ts";

/** Compares the default roles by what a query without a role may do: with each function, more, less or both. */
export function compareDefaultRole(before: AccessLock, after: AccessLock): AccessChange[] {
  const [was, is] = [before.defaultRole, after.defaultRole];
  if (was === is) return [];
  const names = Object.keys(after.functions);
  const cellsOf = (name: string): [LockedCell, LockedCell] => {
    const [old, now] = [own(before.functions, name), after.functions[name]!];
    return [old === undefined ? "hidden" : cellFor(old, was ?? NO_ROLE), cellFor(now, is ?? NO_ROLE)];
  };
  const gained = names.filter((name) => allowsMore(...cellsOf(name)));
  const lost = Object.keys(before.functions).filter((name) => {
    if (own(after.functions, name) === undefined) return !isHidden(cellFor(before.functions[name]!, was ?? NO_ROLE));
    const [old, now] = cellsOf(name);
    return allowsMore(now, old);
  });
  const role = is === undefined ? "no role" : `the role ${quote(is)}`;
  const sentence = `a query without a role has ${role}${was === undefined ? "" : ` instead of ${quote(was)}`}`;
  return [
    ...(gained.length > 0
      ? [change("widening", "defaultRole", `${sentence}, which may do more with ${list(gained)}`)]
      : []),
    ...(lost.length > 0 || gained.length === 0
      ? [
          change(
            "narrowing",
            "defaultRole",
            lost.length === 0 ? sentence : `${sentence}, which may do less with ${list(lost)}`,
          ),
        ]
      : []),
  ];
}

function allowsMore(was: LockedCell, is: LockedCell): boolean {
  if (isHidden(is)) return false;
  if (isHidden(was)) return true;
  if (!hidesOf(was).every((path) => isRemoved(path, hidesOf(is)))) return true;
  if (accessOf(is) === "allowed") return accessOf(was) === "conditional";
  if (accessOf(was) === "allowed") return false;
  const [old, now] = [casesOf(was), casesOf(is)];
  const both = Object.keys(now).filter((name) => Object.hasOwn(old, name));
  // Without a common case, the decisions of `authorize` for the other role are unknown, so they count as wider.
  return both.length === 0 || both.some((name) => RANK[now[name]!] > RANK[old[name]!]);
}
