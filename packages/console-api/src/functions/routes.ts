import { isoTime } from "@patchbay/kit";
import type { Manifest } from "@patchbay/protocol";
import type { FunctionFigures } from "@patchbay/protocol/console";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { bucketsOf, rangeOf } from "../analytics/time-range.ts";
import { type ConsoleDeps, found, type Handlers, paged } from "../handler.ts";
import type { AgentScope } from "../lists.ts";
import type { StoredFunctionSet } from "./queries.ts";

const NEVER_CALLED: FunctionFigures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

type FunctionDeps = Pick<ConsoleDeps, "store" | "queries" | "gateway" | "limits">;

export function functionRoutes({ store, queries, gateway, limits }: FunctionDeps) {
  const { functions } = queries;
  return {
    async "GET /agents/:agent_id/functions"({ agent, query }) {
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const { manifestHash, manifest, firstSeenAt, connected } = set;
      const figures = await functions.figures(agent, rangeOf(query, await store.now()));
      return {
        manifestHash,
        service: manifest.name,
        instructions: manifest.instructions ?? null,
        defaultRole: manifest.defaultRole ?? null,
        roles: rolesOf(manifest, limits.rolesPerService).roles,
        exampleQueries: manifest.exampleQueries ?? [],
        connected,
        firstSeenAt,
        functions: manifest.functions.map((fn) => ({ ...fn, figures: figures.get(fn.name) ?? NEVER_CALLED })),
      };
    },

    async "GET /agents/:agent_id/functions/:function_name/cases"({ agent, params, query }) {
      const functionName = params.function_name;
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const fn = found(
        set.manifest.functions.find(({ name }) => name === functionName),
        "function",
      );
      // A combined set is stored without cases: those in the service's own set are newer.
      const manifestHash = fn.origin?.manifestHash ?? set.manifestHash;
      return { cases: await functions.reportedCases(agent, { manifestHash, functionName }) };
    },

    async "GET /agents/:agent_id/functions/:function_name/history"({ agent, params, query }) {
      const range = rangeOf(query, await store.now());
      const buckets = bucketsOf(range);
      return {
        from: isoTime(range.from),
        to: isoTime(range.to),
        bucketMs: buckets.widthMs,
        buckets: await functions.history(agent, params.function_name, range, buckets),
      };
    },

    "GET /agents/:agent_id/function-sets": ({ agent, query }) => functions.sets(agent, paged(query)),
  } satisfies Handlers;
}

/**
 * The requested function set. Default: the active set for new runs, or the last connected set while none serves. Throws
 * `not_found` for an unknown set, and before the first connection.
 */
export async function functionSetOf(
  { queries, gateway }: Pick<ConsoleDeps, "queries" | "gateway">,
  scope: AgentScope,
  manifestHash: string | undefined,
): Promise<StoredFunctionSet> {
  const { functions } = queries;
  const serving = manifestHash === undefined ? (await gateway.serving(scope.agentId)).set?.manifestHash : undefined;
  const served = serving === undefined ? undefined : await functions.set(scope, serving);
  // No single runtime has the combined set of several services, but all its parts are connected.
  if (served) return { ...served, connected: true };
  const set = await functions.set(scope, manifestHash);
  if (set) return set;
  const none = "No functions were connected to this agent yet. Start a runtime with one of its runtime keys.";
  throw new ServiceError("not_found", manifestHash === undefined ? none : "This agent had no such function set.");
}

/**
 * Roles that the service or one of its functions names: the service's roles in its order, then the others by name. At
 * most `most`, because a stored set can be older than the role limit.
 */
export function rolesOf(
  { roles = [], defaultRole, functions }: Manifest,
  most: number,
): { roles: string[]; omitted: number } {
  const declared = [...roles, ...(defaultRole === undefined ? [] : [defaultRole])];
  const named = functions.flatMap((fn) => (fn.roles === "everyone" ? [] : fn.roles));
  const all = [...new Set([...declared, ...named.toSorted()])];
  return { roles: all.slice(0, most), omitted: Math.max(0, all.length - most) };
}
