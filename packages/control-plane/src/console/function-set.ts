import type { Manifest } from "@patchbay/protocol";
import type { StoredFunctionSet } from "../ports/console-agents.ts";
import { ServiceError } from "../ports/service-error.ts";
import type { Store } from "../ports/stores.ts";

/** The function set asked for, or the one that new runs get. Throws `not_found` for an unknown one and where there is none yet. */
export async function functionSetOf(
  store: Store,
  { orgId, agentId }: { orgId: string; agentId: string },
  manifestHash: string | undefined,
): Promise<StoredFunctionSet> {
  const set = await store.console.functions.set(orgId, agentId, manifestHash);
  if (set) return set;
  const none = "No functions were connected to this agent yet. Start a runtime with one of its runtime keys.";
  throw new ServiceError("not_found", manifestHash === undefined ? none : "This agent had no such function set.");
}

/**
 * Roles that the service or a function of it names: the service's own in its order, then the others by name. At most `most`: a
 * stored set may be from before the limit on roles.
 */
export function rolesOf(
  { roles = [], defaultRole, functions }: Manifest,
  most: number,
): { roles: string[]; omitted: number } {
  const declared = [...roles, ...(defaultRole === undefined ? [] : [defaultRole])];
  const named = functions.flatMap((one) => (one.roles === "everyone" ? [] : one.roles));
  const all = [...new Set([...declared, ...named.toSorted()])];
  return { roles: all.slice(0, most), omitted: Math.max(0, all.length - most) };
}
