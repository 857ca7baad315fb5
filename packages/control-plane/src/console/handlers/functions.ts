import type { FunctionFigures } from "@patchbay/protocol/console";
import type { ConsoleDeps } from "../deps.ts";
import { functionSetOf, rolesOf } from "../function-set.ts";
import type { HandlersOf } from "../handler.ts";
import { bucketsOf, rangeOf } from "../time-range.ts";
import { paged } from "../page-size.ts";
import { agentOf } from "./agent-of.ts";

const NEVER_CALLED: FunctionFigures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

type FunctionRoutes =
  | "GET /agents/:agent_id/functions"
  | "GET /agents/:agent_id/functions/:function_name/history"
  | "GET /agents/:agent_id/function-sets";

export function functionHandlers({
  store,
  gateway,
  limits,
}: Pick<ConsoleDeps, "store" | "gateway" | "limits">): HandlersOf<FunctionRoutes> {
  const reads = store.console.functions;
  return {
    async "GET /agents/:agent_id/functions"({ by, params, query }) {
      const agent = await agentOf(store, by.orgId, params.agent_id);
      const { manifestHash, manifest, firstSeenAt, connected } = await functionSetOf(
        { store, gateway },
        agent,
        query.manifestHash,
      );
      const figures = await reads.figures(by.orgId, agent.agentId, rangeOf(query, await store.now()));
      return {
        manifestHash,
        service: manifest.name,
        instructions: manifest.instructions ?? null,
        defaultRole: manifest.defaultRole ?? null,
        roles: rolesOf(manifest, limits.rolesPerService).roles,
        connected,
        firstSeenAt: new Date(firstSeenAt).toISOString(),
        functions: manifest.functions.map((one) => ({ ...one, figures: figures.get(one.name) ?? NEVER_CALLED })),
      };
    },

    async "GET /agents/:agent_id/functions/:function_name/history"({ by, params, query }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const range = rangeOf(query, await store.now());
      const buckets = bucketsOf(range);
      const calls = await reads.history(by.orgId, agentId, params.function_name, range, buckets);
      const isoTime = (ms: number): string => new Date(ms).toISOString();
      return {
        from: isoTime(range.from),
        to: isoTime(range.to),
        bucketMs: buckets.widthMs,
        buckets: calls.map((bucket, i) => ({ at: isoTime(buckets.firstAt + i * buckets.widthMs), ...bucket })),
      };
    },

    async "GET /agents/:agent_id/function-sets"({ by, params, query }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { items, nextCursor } = await reads.sets(by.orgId, agentId, paged(query));
      return {
        items: items.map(({ manifestHash, manifest, firstSeenAt, connected }) => ({
          manifestHash,
          firstSeenAt: new Date(firstSeenAt).toISOString(),
          connected,
          functions: manifest.functions.map(({ name }) => name),
        })),
        nextCursor,
      };
    },
  };
}
