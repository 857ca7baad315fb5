import type { Analytics, RunSource } from "@patchbay/protocol/console";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { resource } from "../../api/api.ts";
import { PAST } from "../../api/live.ts";
import { ChartCard, ChartSkeleton } from "../../charts/chart-card.tsx";
import { Sparkline } from "../../charts/small-charts.tsx";
import type { TimeChartProps } from "../../charts/time-chart.tsx";
import { formatCompact, formatShare } from "../../format/numbers.ts";
import { type Preset, rangeBefore, rangeOf, type RangeSearch } from "../../format/time-range.ts";
import { Card, EmptyState } from "../../ui/page.tsx";
import { Change, StatTile, StatTiles, StatTilesSkeleton } from "../../ui/stat-tile.tsx";
import { Count, Duration, Money } from "../../ui/values.tsx";
import { costSeries, latencySeries, outcomeSeries, queriesOf, stepsOf, tokenSeries } from "./series.ts";

export interface AnalyticsSearch extends RangeSearch {
  role?: string | undefined;
  /** Default: the queries of clients. */
  source?: "all" | RunSource | undefined;
}

interface FiguresOptions {
  /** Omit for the figures of all agents. */
  agentId?: string;
  search: AnalyticsSearch;
  preset: Preset;
}

/** Fetches the figures of a range, and the totals of the previous range of the same length. */
export function useFigures({ agentId, search, preset }: FiguresOptions) {
  const optionsOf = (range: ReturnType<typeof rangeOf>) => {
    const { role, source = "production" as const } = search;
    const query = { ...range, role, source: source === "all" ? undefined : source };
    return agentId === undefined
      ? resource("/analytics", { query })
      : resource("/agents/:agent_id/analytics", { params: { agentId }, query });
  };
  const figures = useQuery({ ...optionsOf(rangeOf(search, { preset })), placeholderData: keepPreviousData });
  const before = useQuery({
    ...optionsOf(rangeBefore(search, { preset })),
    meta: PAST,
    placeholderData: keepPreviousData,
  });
  return { figures, before: before.data?.totals };
}

/** The totals of a range, each with its change from the previous range. */
export function Totals({ figures, before }: { figures: Analytics; before: Analytics["totals"] | undefined }) {
  const { totals, buckets } = figures;
  const queries = queriesOf(totals);
  const failureRate = (of: Analytics["totals"]): number | null =>
    queriesOf(of) === 0 ? null : of.failed / queriesOf(of);
  const tokens = (of: { inputTokens: number; outputTokens: number }): number => of.inputTokens + of.outputTokens;
  return (
    <StatTiles>
      <StatTile
        label="Queries"
        value={<Count value={queries} short={queries >= 100_000} />}
        note={<Change now={queries} before={before && queriesOf(before)} />}
      >
        <Sparkline values={buckets.map(queriesOf)} color="series-1" />
      </StatTile>
      <StatTile
        label="Failed"
        value={
          <>
            <Count value={totals.failed} />{" "}
            {queries > 0 && (
              <span className="text-muted text-sm font-normal tracking-normal">
                {formatShare(totals.failed, queries)}
              </span>
            )}
          </>
        }
        note={<Change now={failureRate(totals)} before={before && failureRate(before)} better="less" />}
      >
        <Sparkline values={buckets.map(({ failed }) => failed)} color="mark-bad" />
      </StatTile>
      <StatTile
        label="Latency, p95"
        value={<Duration ms={totals.p95Ms} />}
        note={<Change now={totals.p95Ms} before={before?.p95Ms} better="less" />}
      >
        <Sparkline values={buckets.map(({ p95Ms }) => p95Ms)} color="series-3" />
      </StatTile>
      <StatTile
        label="Tokens"
        value={
          <span title={`${totals.inputTokens} in, ${totals.outputTokens} out`}>{formatCompact(tokens(totals))}</span>
        }
        note={<Change now={tokens(totals)} before={before && tokens(before)} />}
      >
        <Sparkline values={buckets.map(tokens)} color="series-2" />
      </StatTile>
      <StatTile
        label="Model cost"
        value={<Money usd={totals.costUsd} />}
        note={<Change now={totals.costUsd} before={before?.costUsd} />}
      >
        <Sparkline values={buckets.map(({ costUsd }) => costUsd)} color="series-4" />
      </StatTile>
    </StatTiles>
  );
}

export const TotalsSkeleton = () => (
  <StatTilesSkeleton labels={["Queries", "Failed", "Latency, p95", "Tokens", "Model cost"]} />
);

const GRID = "grid gap-4 xl:grid-cols-2";

/** The charts of a range. */
export function Trends({ figures, open }: { figures: Analytics; open: TimeChartProps["open"] }) {
  const steps = stepsOf(figures);
  const costs = costSeries(figures);
  return (
    <div className={GRID}>
      <ChartCard title="Queries" steps={steps} series={outcomeSeries(figures)} unit="count" kind="bars" open={open} />
      <ChartCard
        title="Latency"
        steps={steps}
        series={latencySeries(figures)}
        unit="ms"
        kind="lines"
        band={["p50Ms", "p95Ms"]}
        open={open}
      />
      <ChartCard title="Tokens" steps={steps} series={tokenSeries(figures)} unit="count" kind="bars" open={open} />
      {costs.length > 0 ? (
        <ChartCard title="Cost by model" steps={steps} series={costs} unit="usd" kind="bars" open={open} />
      ) : (
        <Card title="Cost by model">
          <EmptyState icon="credit" title="No model cost">
            The offline model and models without a known price cost nothing.
          </EmptyState>
        </Card>
      )}
    </div>
  );
}

export const TrendsSkeleton = () => (
  <div className={GRID}>
    {["Queries", "Latency", "Tokens", "Cost by model"].map((title) => (
      <ChartSkeleton key={title} title={title} />
    ))}
  </div>
);
