import type { Analytics, FigureSource } from "@patchbay/protocol/console";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { resource } from "../../api/api.ts";
import { PAST } from "../../api/live.ts";
import { ChartCard, ChartSkeleton } from "../../charts/chart-card.tsx";
import { Sparkline } from "../../charts/sparkline.tsx";
import type { Color } from "../../charts/series.tsx";
import type { TimeChartProps } from "../../charts/time-chart.tsx";
import { countOf, formatCompact, formatShare } from "../../format/numbers.ts";
import { type Preset, rangeBefore, rangeOf, type RangeSearch } from "../../format/time-range.ts";
import { Card, EmptyState } from "../../ui/page.tsx";
import { Change, StatTile, StatTiles, StatTilesSkeleton } from "../../ui/stat-tile.tsx";
import { Count, Duration, isUnpriced, Money } from "../../ui/values.tsx";
import { type RunsSearch, runsLink, type Scope } from "./runs-link.tsx";
import { costSeries, outcomeSeries, percentileSeries, queriesOf, stepsOf, tokenSeries } from "./series.ts";

export interface AnalyticsSearch extends RangeSearch {
  role?: string | undefined;
  /** Default: client queries. */
  source?: "all" | FigureSource | undefined;
}

interface FiguresOptions {
  /** Omit for the figures of all agents. */
  agentId?: string | undefined;
  search: AnalyticsSearch;
  preset: Preset;
}

/** Fetches a range's figures, and the totals for the previous range with the same length. */
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

type Figures = Analytics["totals"];

interface Tile {
  label: string;
  /** Compared with the previous range, and drawn over time. Null: unknown. */
  figure: (of: Figures) => number | null;
  shown: (of: Figures) => ReactNode;
  better?: "less" | "more";
  color: Color;
  /** The figure is a cost sum, to which models without a price add 0. */
  isCost?: boolean;
  /** The runs behind the figure. */
  runs: { about: string; search: Partial<RunsSearch> };
}

const tokensOf = (of: Figures): number => of.inputTokens + of.outputTokens;
const share = (part: number, of: number): number | null => (of === 0 ? null : part / of);
const cachedShare = (of: Figures) => share(of.cachedInputTokens, of.inputTokens);
const costPerQuery = (of: Figures) => share(of.costUsd, queriesOf(of));

const TILES: Tile[] = [
  {
    label: "Queries",
    figure: queriesOf,
    shown: (of) => <Count value={queriesOf(of)} short={queriesOf(of) >= 100_000} />,
    runs: { about: "newest runs", search: {} },
    color: "series-1",
  },
  {
    label: "Failed",
    figure: (of) => share(of.failed, queriesOf(of)),
    shown: (of) => (
      <>
        <Count value={of.failed} />{" "}
        {queriesOf(of) > 0 && (
          <span className="text-muted text-sm font-normal tracking-normal">
            {formatShare(of.failed, queriesOf(of))}
          </span>
        )}
      </>
    ),
    better: "less",
    color: "mark-bad",
    runs: { about: "failed runs", search: { status: "failed" } },
  },
  {
    label: "Latency, p95",
    figure: ({ p95Ms }) => p95Ms,
    shown: ({ p95Ms }) => <Duration ms={p95Ms} />,
    runs: { about: "longest runs", search: { sort: "-durationMs" } },
    better: "less",
    color: "series-3",
  },
  {
    label: "First token, p50",
    figure: ({ firstTokenP50Ms }) => firstTokenP50Ms,
    shown: ({ firstTokenP50Ms }) => <Duration ms={firstTokenP50Ms} />,
    runs: { about: "newest runs", search: {} },
    better: "less",
    color: "series-5",
  },
  {
    label: "Tokens",
    figure: tokensOf,
    shown: (of) => <span title={`${of.inputTokens} in, ${of.outputTokens} out`}>{formatCompact(tokensOf(of))}</span>,
    color: "series-2",
    runs: { about: "runs with the most tokens", search: { sort: "-tokens" } },
  },
  {
    label: "From cache",
    figure: cachedShare,
    shown: (of) => formatShare(of.cachedInputTokens, of.inputTokens),
    runs: { about: "runs with the most tokens", search: { sort: "-tokens" } },
    better: "more",
    color: "series-2",
  },
  {
    label: "Model cost",
    figure: ({ costUsd }) => costUsd,
    shown: (of) => <Money usd={of.costUsd} />,
    color: "series-4",
    isCost: true,
    runs: { about: "most expensive runs", search: { sort: "-costUsd" } },
  },
  {
    label: "Cost per query",
    figure: costPerQuery,
    shown: (of) => <Money usd={costPerQuery(of)} short />,
    runs: { about: "most expensive runs", search: { sort: "-costUsd" } },
    better: "less",
    color: "series-4",
    isCost: true,
  },
];

interface TotalsProps {
  figures: Analytics;
  before: Figures | undefined;
  scope: Scope;
}

/** A range's totals, each with its change from the previous range, and a link to the runs behind it. */
export const Totals = ({ figures: { totals, buckets, models }, before, scope }: TotalsProps) => (
  <StatTiles>
    {TILES.map(({ label, figure, shown, better, color, isCost = false, runs }) => (
      <StatTile
        key={label}
        label={runsLink(scope, runs.search, {
          "aria-label": `${label}: ${runs.about}`,
          className: TILE_LINK,
          children: label,
        })}
        value={shown(totals)}
        note={
          <>
            <Change now={figure(totals)} before={before && figure(before)} {...(better && { better })} />
            {isCost && <Unpriced models={models} />}
          </>
        }
      >
        <Sparkline values={buckets.map(figure)} color={color} />
      </StatTile>
    ))}
  </StatTiles>
);

function Unpriced({ models }: Pick<Analytics, "models">) {
  const unpriced = models.filter(({ costUsd: usd, provider, inputTokens, outputTokens }) =>
    isUnpriced({ usd, provider, tokens: inputTokens + outputTokens }),
  ).length;
  return unpriced > 0 && <span className="block">{countOf(unpriced, "model")} without a price</span>;
}

/** Covers the tile. */
const TILE_LINK =
  "after:absolute after:inset-0 after:rounded-lg hover:underline focus-visible:outline-none focus-visible:after:outline-2 after:outline-focus";

export const TotalsSkeleton = () => <StatTilesSkeleton labels={TILES.map(({ label }) => label)} />;

/** With an odd number of charts, the last has the whole row. */
const GRID = "grid gap-4 xl:grid-cols-2 xl:*:last:odd:col-span-full";

/** A range's charts. */
export function Trends({ figures, open }: { figures: Analytics; open: TimeChartProps["open"] }) {
  const steps = stepsOf(figures);
  const costs = costSeries(figures);
  const { buckets, totals } = figures;
  return (
    <div className={GRID}>
      <ChartCard
        title="Queries"
        steps={steps}
        series={outcomeSeries(buckets, ["succeeded", "failed", "cancelled"])}
        unit="count"
        kind="bars"
        open={open}
      />
      <ChartCard
        title="Latency"
        steps={steps}
        series={percentileSeries(buckets, ["p50Ms", "p95Ms", "p99Ms"], totals)}
        unit="ms"
        kind="lines"
        band={["p50Ms", "p95Ms"]}
        open={open}
      />
      <ChartCard
        title="First token"
        description="From the model request to the first text of a turn"
        steps={steps}
        series={percentileSeries(buckets, ["firstTokenP50Ms", "firstTokenP95Ms"], totals)}
        unit="ms"
        kind="lines"
        band={["firstTokenP50Ms", "firstTokenP95Ms"]}
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
    {["Queries", "Latency", "First token", "Tokens", "Cost by model"].map((title) => (
      <ChartSkeleton key={title} title={title} />
    ))}
  </div>
);
