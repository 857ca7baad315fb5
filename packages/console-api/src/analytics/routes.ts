import { isoTime } from "@patchbay/kit";
import type { Analytics } from "@patchbay/protocol/console";
import type { ConsoleDeps, ConsoleRequest, Handlers } from "../handler.ts";
import { bucketsOf, type FiguresOf, rangeOf } from "./time-range.ts";

type FigureQuery = ConsoleRequest<"GET /analytics">["query"];

export function analyticsRoutes({ store, queries }: Pick<ConsoleDeps, "store" | "queries">) {
  async function analytics(of: Pick<FiguresOf, "orgId" | "agentId">, query: FigureQuery): Promise<Analytics> {
    const range = rangeOf(query, await store.now());
    const buckets = bucketsOf(range);
    const { role, source } = query;
    const figures = await queries.analytics.figures({ ...of, ...range, role, source }, buckets);
    return { from: isoTime(range.from), to: isoTime(range.to), bucketMs: buckets.widthMs, ...figures };
  }

  return {
    "GET /analytics": ({ by, query }) => analytics({ orgId: by.orgId }, query),

    "GET /agents/:agent_id/analytics": ({ agent: { orgId, agentId }, query }) => analytics({ orgId, agentId }, query),
  } satisfies Handlers;
}
