import type { Manifest } from "@patchbay/protocol";
import type { StoredFunctionSet } from "../ports/console-agents.ts";
import { ServiceError } from "../ports/service-error.ts";
import type { ConsoleDeps } from "./deps.ts";

/**
 * The function set asked for, or the one that new runs get; where no set serves, the one connected last. Throws `not_found` for
 * an unknown one and where there is none yet.
 */
export async function functionSetOf(
  { store, gateway }: Pick<ConsoleDeps, "store" | "gateway">,
  { orgId, agentId }: { orgId: string; agentId: string },
  manifestHash: string | undefined,
): Promise<StoredFunctionSet> {
  const sets = store.console.functions;
  const serving = manifestHash === undefined ? (await gateway.serving(agentId)).set?.manifestHash : undefined;
  const served = serving === undefined ? undefined : await sets.set(orgId, agentId, serving);
  // No runtime has the combined set of several services, but all of its parts are connected.
  if (served) return { ...served, connected: true };
  const set = await sets.set(orgId, agentId, manifestHash);
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
