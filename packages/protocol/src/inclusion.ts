import { z } from "zod";
import { oncePer } from "@patchbay/kit";
import { optionalText, optionalTexts } from "./members.ts";

/** What the owner says about a role, besides its name. */
export const RoleOptions = z.object({
  includes: optionalTexts("The roles whose access the role also has. What these include in turn is not listed."),
  description: optionalText("For people: who has the role."),
});
export type RoleOptions = z.infer<typeof RoleOptions>;

/** The options of roles by name. A role without any may be absent. */
export type Inclusions = Readonly<Record<string, RoleOptions>>;

// A runtime may send many inclusions, and each request of a pinned key needs some.
const knownIn = oncePer<Inclusions, Map<string, ReadonlySet<string>>>(() => new Map());

/**
 * The roles as which `role` may act: itself, then those that it includes, and those that they include. Only this
 * function decides what an inclusion means.
 */
export function actsAs(role: string, inclusions: Inclusions = {}): ReadonlySet<string> {
  const known = knownIn(inclusions).get(role);
  if (known) return known;
  const roles = new Set([role]);
  for (const one of roles)
    for (const included of Object.hasOwn(inclusions, one) ? (inclusions[one]!.includes ?? []) : []) roles.add(included);
  knownIn(inclusions).set(role, roles);
  return roles;
}

/** A role list with the roles that include one of its roles. */
export function withIncluding(roles: readonly string[], inclusions: Inclusions = {}): string[] {
  const including = Object.keys(inclusions).filter((role) => roles.some((one) => actsAs(role, inclusions).has(one)));
  return [...new Set([...roles, ...including])];
}

/** The roles that no other one of them includes. Of two that include each other, the first. */
export const outermost = (roles: readonly string[], inclusions: Inclusions = {}): string[] =>
  roles.filter(
    (role, i) =>
      !roles.some((other, j) => {
        if (other === role || !actsAs(other, inclusions).has(role)) return false;
        return j < i || !actsAs(role, inclusions).has(other);
      }),
  );

/** The roles of a list that `role` includes: through them it has the access, with and without its own entry. */
export function inheritedFrom(role: string, roles: readonly string[] | "everyone", inclusions: Inclusions = {}) {
  const acts = actsAs(role, inclusions);
  return roles === "everyone" ? [] : roles.filter((one) => one !== role && acts.has(one));
}
