import { accessUse } from "../../accounts/access-use.ts";
import { functionSetOf } from "../functions/routes.ts";
import type { ConsoleDeps, HandlersOf } from "../handler.ts";

const DAYS = 90;
const DAY_MS = 86_400_000;
/** About 120 KB of the response. */
const MOST_RIGHTS = 500;
const ORDER = { unused: 0, new: 1, used: 2 };

/** Which roles use the functions of the function set. */
export function accessUseRoutes({
  store,
  queries,
  gateway,
}: Pick<ConsoleDeps, "store" | "queries" | "gateway">): HandlersOf<"GET /agents/:agent_id/access/use"> {
  return {
    async "GET /agents/:agent_id/access/use"({ agent: { orgId, agentId }, query }) {
      const { manifestHash, manifest } = await functionSetOf(
        { queries, gateway },
        { orgId, agentId },
        query.manifestHash,
      );
      const since = (await store.now()) - (query.days ?? DAYS) * DAY_MS;
      const { rights, refused, ...use } = await accessUse(store, { agentId, manifest, since });
      const counts = { used: 0, unused: 0, new: 0 };
      for (const { verdict } of rights) counts[verdict]++;
      return {
        manifestHash,
        since: use.since,
        until: use.until,
        counts,
        rights: rights.toSorted((a, b) => ORDER[a.verdict] - ORDER[b.verdict]).slice(0, MOST_RIGHTS),
        omitted: Math.max(0, rights.length - MOST_RIGHTS),
        denied: use.denied,
        refused: refused.allCalls,
      };
    },
  };
}
