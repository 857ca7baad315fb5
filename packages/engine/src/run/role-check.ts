import { type FunctionManifest, type Manifest, rolesAllow } from "@patchbay/protocol";

/** The roles that a key is pinned to; undefined means any role. */
interface Pinned {
  roles?: readonly string[] | undefined;
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
  return role === undefined || key.roles === undefined || key.roles.includes(role);
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
