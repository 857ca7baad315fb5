import type { Analytics } from "@patchbay/protocol/console";
import { usdOf } from "../../accounts/usd.ts";
import type { Figures, FiguresOf, QueryFigures } from "../../ports/console-insight.ts";
import type { Store } from "../../ports/stores.ts";
import type { HandlersOf } from "../handler.ts";
import { bucketsOf, rangeOf } from "../time-range.ts";
import { agentOf } from "./agent-of.ts";

const FUNCTIONS_SHOWN = 50;

interface RangeQuery {
  from?: string | undefined;
  to?: string | undefined;
  role?: string | undefined;
}

export function analyticsHandlers({
  store,
}: {
  store: Store;
}): HandlersOf<"GET /analytics" | "GET /agents/:agent_id/analytics"> {
  async function analytics(of: Pick<FiguresOf, "orgId" | "agentId">, query: RangeQuery): Promise<Analytics> {
    const range = rangeOf(query, await store.now());
    const buckets = bucketsOf(range);
    const { role } = query;
    const figures = await store.console.analytics.queries(
      { ...of, ...range, ...(role !== undefined && { role }) },
      buckets,
    );
    return {
      from: isoTime(range.from),
      to: isoTime(range.to),
      bucketMs: buckets.widthMs,
      buckets: figures.buckets.map((bucket, i) => ({
        at: isoTime(buckets.firstAt + i * buckets.widthMs),
        ...shown(bucket),
      })),
      ...rest(figures),
    };
  }

  return {
    "GET /analytics": ({ by, query }) => analytics({ orgId: by.orgId }, query),

    async "GET /agents/:agent_id/analytics"({ by, params, query }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      return analytics({ orgId: by.orgId, agentId }, query);
    },
  };
}

function rest({ totals, models, functions, roles }: QueryFigures) {
  return {
    totals: shown(totals),
    models: models.map(({ costMicros, costsMicros, ...model }) => ({
      ...model,
      costUsd: usdOf(costMicros),
      costs: costsMicros.map(usdOf),
    })),
    functions: functions.slice(0, FUNCTIONS_SHOWN),
    roles: roles.map(({ costMicros, ...role }) => ({ ...role, costUsd: usdOf(costMicros) })),
  };
}

const shown = ({ costMicros, ...figures }: Figures) => ({ ...figures, costUsd: usdOf(costMicros) });

const isoTime = (ms: number): string => new Date(ms).toISOString();
