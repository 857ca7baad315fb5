import { isoTime } from "@patchbay/kit";
import type { Analytics, FigureSource } from "@patchbay/protocol/console";
import { type ConsoleDeps, type Handlers } from "../handler.ts";

import { bucketsOf, type FiguresOf, rangeOf } from "./time-range.ts";

interface RangeQuery {
  from?: string | undefined;
  to?: string | undefined;
  role?: string | undefined;
  source?: FigureSource | undefined;
}

export function analyticsRoutes({ store, queries }: Pick<ConsoleDeps, "store" | "queries">) {
  async function analytics(of: Pick<FiguresOf, "orgId" | "agentId">, query: RangeQuery): Promise<Analytics> {
    const range = rangeOf(query, await store.now());
    const buckets = bucketsOf(range);
    const { role, source } = query;
    const figures = await queries.analytics.figures({ ...of, ...range, role, source }, buckets);
    return {
      from: isoTime(range.from),
      to: isoTime(range.to),
      bucketMs: buckets.widthMs,
      ...figures,
    };
  }

  return {
    "GET /analytics": ({ by, query }) => analytics({ orgId: by.orgId }, query),

    async "GET /agents/:agent_id/analytics"({ by, agent: { agentId }, query }) {
      return analytics({ orgId: by.orgId, agentId }, query);
    },
  } satisfies Handlers;
}
