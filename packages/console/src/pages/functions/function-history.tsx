import type { ConsoleFunction } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useFiltered } from "../../api/api.ts";
import { ChartCard, ChartSkeleton } from "../../charts/chart-card.tsx";
import { stepRange } from "../../charts/time-steps.ts";
import { formatShare } from "../../format/numbers.ts";
import { rangeOf } from "../../format/time-range.ts";
import { toPage } from "../../state/addresses.ts";
import { ErrorState } from "../../ui/page.tsx";
import { StatTile, StatTiles } from "../../ui/stat-tile.tsx";
import { Count, Duration, Failed, Time } from "../../ui/values.tsx";
import { outcomeSeries, percentileSeries, stepsOf } from "../../parts/figures/series.ts";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");
const GRID = "grid gap-4 xl:grid-cols-2";

/** Charts for a function's calls over the time range; a click on an interval opens its runs. */
export function FunctionHistory() {
  const params = route.useParams();
  const { agentId, functionName } = params;
  const query = rangeOf(route.useSearch());
  const navigate = route.useNavigate();
  const history = useFiltered("/agents/:agent_id/functions/:function_name/history", { params, query });
  if (history.error && !history.data)
    return <ErrorState error={history.error} onRetry={() => void history.refetch()} />;
  if (!history.data)
    return (
      <div className={GRID}>
        <ChartSkeleton title="Calls" />
        <ChartSkeleton title="Latency" />
      </div>
    );
  const { buckets } = history.data;
  const steps = stepsOf(history.data);
  const open = {
    what: "open its runs",
    at: (index: number) => {
      const { at, end } = stepRange(steps, index);
      void navigate({ ...toPage(agentId, "runs"), search: { functionName, from: at, to: end } });
    },
  };
  return (
    <div className={GRID}>
      <ChartCard
        title="Calls"
        steps={steps}
        series={outcomeSeries(buckets, ["succeeded", "failed", "denied"])}
        unit="count"
        kind="bars"
        open={open}
      />
      <ChartCard
        title="Latency"
        description="Allowed calls, from the request to the stored result"
        steps={steps}
        series={percentileSeries(buckets, ["p50Ms", "p95Ms"])}
        unit="ms"
        kind="lines"
        band={["p50Ms", "p95Ms"]}
        open={open}
      />
    </div>
  );
}

/** Figures for a function's calls in the time range. */
export function FunctionFigures({ fn: { figures } }: { fn: ConsoleFunction }) {
  const { calls, failed, denied, p50Ms, p95Ms, lastCalledAt } = figures;
  const share = (part: number) => calls > 0 && part > 0 && formatShare(part, calls);
  return (
    <StatTiles>
      <StatTile label="Calls" value={<Count value={calls} />} />
      <StatTile label="Errors" value={<Failed count={failed} />} note={share(failed)} />
      <StatTile label="Denied" value={<Count value={denied} />} note={share(denied)} />
      <StatTile label="p50" value={<Duration ms={p50Ms} />} />
      <StatTile label="p95" value={<Duration ms={p95Ms} />} />
      <StatTile label="Last call" value={<Time at={lastCalledAt} none="none in range" />} />
    </StatTiles>
  );
}
