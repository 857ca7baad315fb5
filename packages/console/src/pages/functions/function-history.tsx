import type { FunctionHistory as History } from "@patchbay/protocol/console";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { resource } from "../../api/queries.ts";
import { ChartCard, ChartSkeleton } from "../../charts/chart-card.tsx";
import type { Series } from "../../charts/series.ts";
import { formatCount } from "../../format/numbers.ts";
import { rangeOf } from "../../format/time-range.ts";
import { ErrorState } from "../../ui/states.tsx";
import { LATENCY_LOOKS, OUTCOME_LOOKS } from "../analytics/looks.ts";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");
const GRID = "grid gap-4 xl:grid-cols-2";

/** How a function was called in the course of the range. A step of it opens the runs of that time. */
export function FunctionHistory() {
  const { agentId, functionName } = route.useParams();
  const { range, from, to } = route.useSearch();
  const navigate = route.useNavigate();
  const history = useQuery({
    ...resource("/agents/:agent_id/functions/:function_name/history", {
      params: { agent_id: agentId, function_name: functionName },
      query: rangeOf({ range, from, to }),
    }),
    placeholderData: keepPreviousData,
  });
  if (history.error && !history.data)
    return <ErrorState error={history.error} onRetry={() => void history.refetch()} />;
  if (!history.data)
    return (
      <div className={GRID}>
        <ChartSkeleton title="Calls" />
        <ChartSkeleton title="Latency" />
      </div>
    );
  const { buckets, bucketMs } = history.data;
  const steps = { at: buckets.map(({ at }) => at), widthMs: bucketMs, to: history.data.to };
  const open = {
    what: "see its runs",
    at: (index: number) => {
      const begins = Date.parse(steps.at[index]!);
      void navigate({
        to: "/agents/$agentId/runs",
        params: { agentId },
        search: { functionName, from: toIso(begins), to: toIso(begins + bucketMs) },
      });
    },
  };
  return (
    <div className={GRID}>
      <ChartCard title="Calls" steps={steps} series={outcomesOf(history.data)} unit="count" kind="bars" open={open} />
      <ChartCard
        title="Latency"
        description="Of calls that were let through, from the intent to the stored result"
        steps={steps}
        series={latenciesOf(history.data)}
        unit="ms"
        kind="lines"
        band={["p50Ms", "p95Ms"]}
        open={open}
      />
    </div>
  );
}

const toIso = (ms: number): string => new Date(ms).toISOString();

function outcomesOf({ buckets }: History): Series[] {
  const series = (key: "succeeded" | "failed" | "denied", label: string): Series => {
    const values = buckets.map((bucket) => bucket[key]);
    return {
      key,
      label,
      look: OUTCOME_LOOKS[key],
      values,
      note: formatCount(values.reduce((sum, one) => sum + one, 0)),
    };
  };
  return [series("succeeded", "Succeeded"), series("failed", "Failed"), series("denied", "Refused")];
}

function latenciesOf({ buckets }: History): Series[] {
  const series = (key: "p50Ms" | "p95Ms", label: string): Series => ({
    key,
    label,
    look: LATENCY_LOOKS[key],
    values: buckets.map((bucket) => bucket[key]),
  });
  return [series("p50Ms", "p50"), series("p95Ms", "p95")];
}
