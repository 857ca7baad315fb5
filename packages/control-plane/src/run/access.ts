import { rolesAllow, type FunctionManifest, type Manifest } from "@patchbay/protocol";
import type { Caller } from "./api.ts";

/**
 * The role a run has. A role that was sent stands; without one the service's default applies, but a pinned key never gets a
 * role by default that it could not have asked for.
 */
export function effectiveRole(caller: Caller, sent: string | undefined, manifest: Manifest): string | undefined {
  if (sent !== undefined) return sent;
  const fallback = manifest.defaultRole;
  return fallback !== undefined && mayAct(caller, fallback) ? fallback : undefined;
}

/** True when the caller's key may state `role`; no role is always allowed. */
export function mayAct(caller: Caller, role: string | undefined): boolean {
  return role === undefined || caller.roles === undefined || caller.roles.includes(role);
}

/** The functions that exist for `role`: what the model is shown and what may be dispatched. */
export function visibleFunctions(manifest: Manifest, role: string | undefined): FunctionManifest[] {
  return manifest.functions.filter((one) => rolesAllow(one.roles, role));
}

/** True when neither the service nor any of its functions names `role`. */
export function isUnknownRole(manifest: Manifest, role: string): boolean {
  if (manifest.roles?.includes(role) || manifest.defaultRole === role) return false;
  return !manifest.functions.some((one) => one.roles !== "everyone" && one.roles.includes(role));
}
