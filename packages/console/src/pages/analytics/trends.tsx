import type { Analytics } from "@patchbay/protocol/console";
import { ChartCard, ChartSkeleton } from "../../charts/chart-card.tsx";
import type { TimeChartProps } from "../../charts/time-chart.tsx";
import { Card } from "../../ui/card.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { costSeries, latencySeries, outcomeSeries, stepsOf, tokenSeries } from "./series-of.ts";

const GRID = "grid gap-4 xl:grid-cols-2";

/** The course of a range's figures. */
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
          <EmptyState icon="credit" title="Nothing was paid for models">
            The offline model costs nothing, and neither do models whose price is not known.
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
