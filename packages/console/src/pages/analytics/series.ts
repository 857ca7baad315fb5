import type { Analytics } from "@patchbay/protocol/console";
import type { Look, Series } from "../../charts/series.tsx";
import type { TimeSteps } from "../../charts/time-steps.ts";
import { formatCompact, formatCount, formatUsd } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";

type Bucket = Analytics["buckets"][number];

/** The time axis of the figures. */
export const stepsOf = ({ buckets, bucketMs, to }: Analytics): TimeSteps => ({
  at: buckets.map(({ at }) => at),
  widthMs: bucketMs,
  to,
});

/** All ended queries. */
export const queriesOf = ({ succeeded, failed, cancelled }: Pick<Bucket, "succeeded" | "failed" | "cancelled">) =>
  succeeded + failed + cancelled;

export function outcomeSeries({ buckets, totals }: Analytics): Series[] {
  const series = (key: "succeeded" | "failed" | "cancelled", label: string): Series => ({
    key,
    label,
    look: OUTCOME_LOOKS[key],
    values: buckets.map((bucket) => bucket[key]),
    note: formatCount(totals[key]),
  });
  return [series("succeeded", "Succeeded"), series("failed", "Failed"), series("cancelled", "Cancelled")];
}

type Percentile = keyof typeof LATENCY_LOOKS;

/** A line per percentile. Null for no data. */
const percentileSeries = ({ buckets, totals }: Analytics, lines: Partial<Record<Percentile, string>>): Series[] =>
  (Object.entries(lines) as [Percentile, string][]).map(([key, label]) => {
    const total = totals[key];
    return {
      key,
      label,
      look: LATENCY_LOOKS[key],
      values: buckets.map((bucket) => bucket[key]),
      ...(total !== null && { note: formatDuration(total) }),
    };
  });

export const latencySeries = (figures: Analytics): Series[] =>
  percentileSeries(figures, { p50Ms: "p50", p95Ms: "p95", p99Ms: "p99" });

export const firstTokenSeries = (figures: Analytics): Series[] =>
  percentileSeries(figures, { firstTokenP50Ms: "p50", firstTokenP95Ms: "p95" });

export function tokenSeries({ buckets, totals }: Analytics): Series[] {
  const series = (key: "inputTokens" | "outputTokens", label: string, n: number): Series => ({
    key,
    label,
    look: SERIES_LOOKS[n]!,
    values: buckets.map((bucket) => bucket[key]),
    note: formatCompact(totals[key]),
  });
  return [series("inputTokens", "In", 0), series("outputTokens", "Out", 1)];
}

/** One series for each of the most expensive models, and one for all others. Free models are omitted. */
export function costSeries({ models }: Pick<Analytics, "models">): Series[] {
  const paid = models.filter(({ costUsd }) => costUsd > 0).toSorted((a, b) => b.costUsd - a.costUsd);
  const named = paid.slice(0, SERIES_LOOKS.length).map(({ provider, model, costs, costUsd }, i): Series => ({
    key: `${provider}/${model}`,
    label: model,
    look: SERIES_LOOKS[i]!,
    values: costs,
    note: formatUsd(costUsd),
  }));
  const others = paid.slice(SERIES_LOOKS.length);
  if (others.length === 0) return named;
  const values = others[0]!.costs.map((_, i) => others.reduce((sum, { costs }) => sum + (costs[i] ?? 0), 0));
  const note = formatUsd(others.reduce((sum, { costUsd }) => sum + costUsd, 0));
  return [...named, { key: "others", label: `${others.length} others`, look: REST_LOOK, values, note }];
}

/** Looks of outcomes, the same in every chart. */
export const OUTCOME_LOOKS = {
  succeeded: { color: "mark-ok" },
  failed: { color: "mark-bad", pattern: "hatch" },
  cancelled: { color: "mark-idle", pattern: "dots" },
  denied: { color: "mark-warn", pattern: "dots" },
} as const satisfies Record<string, Look>;

/** The parts of a bar of calls. */
export const callParts = ({ calls, failed, denied }: Record<"calls" | "failed" | "denied", number>) => [
  { value: calls - failed - denied, look: OUTCOME_LOOKS.succeeded },
  { value: failed, look: OUTCOME_LOOKS.failed },
  { value: denied, look: OUTCOME_LOOKS.denied },
];

export const LATENCY_LOOKS = {
  p50Ms: { color: "series-1" },
  p95Ms: { color: "series-3", dash: "6 4" },
  // In small buckets, p95 and p99 are the same.
  p99Ms: { color: "series-6", wide: true },
  firstTokenP50Ms: { color: "series-1" },
  firstTokenP95Ms: { color: "series-3", dash: "6 4" },
} as const satisfies Record<string, Look>;

/** Looks of series without a fixed colour, such as models. Patterns distinguish neighbours without colour. */
export const SERIES_LOOKS: readonly Look[] = [
  { color: "series-1" },
  { color: "series-2", pattern: "hatch" },
  { color: "series-3" },
  { color: "series-4", pattern: "dots" },
  { color: "series-5" },
];
const REST_LOOK: Look = { color: "mark-idle", pattern: "hatch" };
