import type { Analytics } from "@patchbay/protocol/console";
import type { Look, Series } from "../../charts/series.tsx";
import type { TimeSteps } from "../../charts/time-steps.ts";
import { formatCompact, formatCount, formatUsd } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";

type Bucket = Analytics["buckets"][number];

type Times = Pick<Analytics, "bucketMs" | "to"> & { buckets: Pick<Bucket, "at">[] };

/** The figures' time axis. */
export const stepsOf = ({ buckets, bucketMs, to }: Times): TimeSteps => ({
  at: buckets.map(({ at }) => at),
  widthMs: bucketMs,
  to,
});

/** All ended queries. */
export const queriesOf = ({ succeeded, failed, cancelled }: Pick<Bucket, "succeeded" | "failed" | "cancelled">) =>
  succeeded + failed + cancelled;

type Buckets<Key extends string> = readonly Readonly<Record<Key, number | null>>[];

/** A figure over time. */
const seriesOf = <Key extends string>(
  buckets: Buckets<Key>,
  key: Key,
  about: Omit<Series, "key" | "values">,
): Series => ({
  key,
  ...about,
  values: buckets.map((bucket) => bucket[key]),
});

type Outcome = keyof typeof OUTCOME_LOOKS;
const OUTCOME_WORDS: Record<Outcome, string> = {
  succeeded: "Succeeded",
  failed: "Failed",
  denied: "Denied",
  cancelled: "Cancelled",
};

/** A series for each outcome, with its sum. */
export const outcomeSeries = <Key extends Outcome>(
  buckets: readonly Readonly<Record<Key, number>>[],
  keys: Key[],
): Series[] =>
  keys.map((key) => {
    const sum = buckets.reduce((all, bucket) => all + bucket[key], 0);
    return seriesOf(buckets, key, { label: OUTCOME_WORDS[key], look: OUTCOME_LOOKS[key], note: formatCount(sum) });
  });

type Percentile = keyof typeof LATENCY_LOOKS;

/** A line for each percentile, with its total if it is known. Null for no data. */
export const percentileSeries = <Key extends Percentile>(
  buckets: Buckets<Key>,
  keys: readonly Key[],
  totals?: Readonly<Record<Key, number | null>>,
): Series[] =>
  keys.map((key) => {
    const total = totals?.[key] ?? null;
    const label = /p\d+/i.exec(key)![0].toLowerCase();
    return seriesOf(buckets, key, {
      label,
      look: LATENCY_LOOKS[key],
      ...(total !== null && { note: formatDuration(total) }),
    });
  });

export const tokenSeries = ({ buckets, totals }: Analytics): Series[] =>
  (["inputTokens", "outputTokens"] as const).map((key, i) =>
    seriesOf(buckets, key, { label: i === 0 ? "In" : "Out", look: SERIES_LOOKS[i]!, note: formatCompact(totals[key]) }),
  );

/** One series for each of the most expensive models, and one for all others. Omits free models. */
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

/** Outcome looks, the same in every chart. */
export const OUTCOME_LOOKS = {
  succeeded: { color: "mark-ok" },
  failed: { color: "mark-bad", pattern: "hatch" },
  cancelled: { color: "mark-idle", pattern: "dots" },
  denied: { color: "mark-warn", pattern: "dots" },
} as const satisfies Record<string, Look>;

/** The parts in a call bar. */
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

/** Looks for series without a fixed colour, such as models. Patterns distinguish neighbours without colour. */
export const SERIES_LOOKS: readonly Look[] = [
  { color: "series-1" },
  { color: "series-2", pattern: "hatch" },
  { color: "series-3" },
  { color: "series-4", pattern: "dots" },
  { color: "series-5" },
];
const REST_LOOK: Look = { color: "mark-idle", pattern: "hatch" };
