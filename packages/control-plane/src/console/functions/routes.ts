import type { Manifest } from "@patchbay/protocol";
import type { FunctionFigures } from "@patchbay/protocol/console";
import { ServiceError } from "../../ports/service-error.ts";
import { bucketsOf, rangeOf } from "../analytics/time-range.ts";
import { type ConsoleDeps, found, type HandlersOf, paged } from "../handler.ts";
import type { StoredFunctionSet } from "./queries.ts";

const NEVER_CALLED: FunctionFigures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

type FunctionRoutes =
  | "GET /agents/:agent_id/functions"
  | "GET /agents/:agent_id/functions/:function_name/cases"
  | "GET /agents/:agent_id/functions/:function_name/history"
  | "GET /agents/:agent_id/function-sets";

type FunctionDeps = Pick<ConsoleDeps, "store" | "queries" | "gateway" | "limits">;

export function functionRoutes({ store, queries, gateway, limits }: FunctionDeps): HandlersOf<FunctionRoutes> {
  const { functions } = queries;
  return {
    async "GET /agents/:agent_id/functions"({ agent, query }) {
      const { orgId, agentId } = agent;
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const { manifestHash, manifest, firstSeenAt, connected } = set;
      const figures = await functions.figures(orgId, agentId, rangeOf(query, await store.now()));
      return {
        manifestHash,
        service: manifest.name,
        instructions: manifest.instructions ?? null,
        defaultRole: manifest.defaultRole ?? null,
        roles: rolesOf(manifest, limits.rolesPerService).roles,
        exampleQueries: manifest.exampleQueries ?? [],
        connected,
        firstSeenAt,
        functions: manifest.functions.map((one) => ({ ...one, figures: figures.get(one.name) ?? NEVER_CALLED })),
      };
    },

    async "GET /agents/:agent_id/functions/:function_name/cases"({ agent, params, query }) {
      const { orgId, agentId } = agent;
      const functionName = params.function_name;
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const fn = found(
        set.manifest.functions.find(({ name }) => name === functionName),
        "function",
      );
      // A combined set is stored without cases: those of the service's own set are newer.
      const manifestHash = fn.origin?.manifestHash ?? set.manifestHash;
      return { cases: await functions.reportedCases(orgId, agentId, { manifestHash, functionName }) };
    },

    async "GET /agents/:agent_id/functions/:function_name/history"({ agent, params, query }) {
      const range = rangeOf(query, await store.now());
      const buckets = bucketsOf(range);
      return {
        from: new Date(range.from).toISOString(),
        to: new Date(range.to).toISOString(),
        bucketMs: buckets.widthMs,
        buckets: await functions.history(agent.orgId, agent.agentId, params.function_name, range, buckets),
      };
    },

    "GET /agents/:agent_id/function-sets": ({ agent: { orgId, agentId }, query }) =>
      functions.sets(orgId, agentId, paged(query)),
  };
}

/**
 * The requested function set. Default: the set that new runs get, or the set connected last while none serves. Throws `not_found`
 * for an unknown set, and before the first connection.
 */
export async function functionSetOf(
  { queries, gateway }: Pick<ConsoleDeps, "queries" | "gateway">,
  { orgId, agentId }: { orgId: string; agentId: string },
  manifestHash: string | undefined,
): Promise<StoredFunctionSet> {
  const { functions } = queries;
  const serving = manifestHash === undefined ? (await gateway.serving(agentId)).set?.manifestHash : undefined;
  const served = serving === undefined ? undefined : await functions.set(orgId, agentId, serving);
  // No single runtime has the combined set of several services, but all of its parts are connected.
  if (served) return { ...served, connected: true };
  const set = await functions.set(orgId, agentId, manifestHash);
  if (set) return set;
  const none = "No functions were connected to this agent yet. Start a runtime with one of its runtime keys.";
  throw new ServiceError("not_found", manifestHash === undefined ? none : "This agent had no such function set.");
}

/**
 * Roles that the service or one of its functions names: the roles of the service in its order, then the others by name. At most
 * `most`, because a stored set can be older than the limit on roles.
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
