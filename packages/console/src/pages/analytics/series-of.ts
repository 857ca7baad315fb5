import type { Analytics } from "@patchbay/protocol/console";
import type { Series } from "../../charts/series.ts";
import type { TimeSteps } from "../../charts/time-steps.ts";
import { formatCompact, formatCount, formatUsd } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { LATENCY_LOOKS, OUTCOME_LOOKS, REST_LOOK, SERIES_LOOKS } from "./looks.ts";

type Bucket = Analytics["buckets"][number];

export const stepsOf = ({ buckets, bucketMs, to }: Analytics): TimeSteps => ({
  at: buckets.map(({ at }) => at),
  widthMs: bucketMs,
  to,
});

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

export function latencySeries({ buckets, totals }: Analytics): Series[] {
  const series = (key: "p50Ms" | "p95Ms" | "p99Ms", label: string): Series => {
    const total = totals[key];
    return {
      key,
      label,
      look: LATENCY_LOOKS[key],
      values: buckets.map((bucket) => bucket[key]),
      ...(total !== null && { note: formatDuration(total) }),
    };
  };
  return [series("p50Ms", "p50"), series("p95Ms", "p95"), series("p99Ms", "p99")];
}

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

/** The models that cost most, each with its own look, and the others together. Models that cost nothing are left out. */
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
