import { actsAs, type FunctionManifest, type Inclusions, type Manifest, rolesAllow } from "@patchbay/protocol";
import { invalid } from "../ports/service-error.ts";

/** The roles that a key is pinned to, or that its caller proved; undefined means any role. */
interface Pinned {
  roles?: readonly string[] | undefined;
  /** What these roles include. */
  inclusions?: Inclusions | undefined;
}

/**
 * A run's role: the one that the query states, else the service's default. A pinned key does not get a default role
 * that it could not state itself.
 */
export function effectiveRole(key: Pinned, claimed: string | undefined, manifest: Manifest): string | undefined {
  if (claimed !== undefined) return claimed;
  const { defaultRole } = manifest;
  return defaultRole !== undefined && mayState(key, defaultRole) ? defaultRole : undefined;
}

/** True when queries with this key may state `role`. Queries without a role are always allowed. */
export function mayState(key: Pinned, role: string | undefined): boolean {
  return role === undefined || (statable(key)?.includes(role) ?? true);
}

/** All roles that queries with this key may state; undefined means any role. */
export const statable = ({ roles, inclusions }: Pinned): string[] | undefined =>
  roles && [...new Set(roles.flatMap((role) => [...actsAs(role, inclusions)]))];

/** The proven role of a request that states none. Throws for a caller with several, who must choose one. */
export function ownRole({
  roles = [],
  proven,
}: Pick<Pinned, "roles"> & { proven?: { roles?: readonly string[] } }): string | undefined {
  if (!proven?.roles) return undefined;
  if (roles.length < 2) return roles[0];
  throw invalid([
    { path: "X-Patchbay-Role", message: `is required: the caller has the roles ${roles.join(", ")}; name one of them` },
  ]);
}

/** The functions that exist for `role`: only these are shown to the model and dispatched. */
export function visibleFunctions(manifest: Manifest, role: string | undefined): FunctionManifest[] {
  return manifest.functions.filter((one) => rolesAllow(one.roles, role));
}

/** True when neither the service nor any of its functions names `role`. */
export function isUnknownRole(manifest: Manifest, role: string): boolean {
  if (manifest.roles?.includes(role) || manifest.defaultRole === role) return false;
  return !manifest.functions.some((one) => one.roles !== "everyone" && one.roles.includes(role));
}
