import type { Look } from "../../charts/series.ts";

/** Outcomes look the same wherever they are drawn. */
export const OUTCOME_LOOKS = {
  succeeded: { color: "mark-ok" },
  failed: { color: "mark-bad", pattern: "hatch" },
  cancelled: { color: "mark-idle", pattern: "dots" },
  denied: { color: "mark-warn", pattern: "dots" },
} as const satisfies Record<string, Look>;

export const LATENCY_LOOKS = {
  p50Ms: { color: "series-1" },
  p95Ms: { color: "series-3", dash: "6 4" },
  p99Ms: { color: "series-6", dash: "1.5 4" },
} as const satisfies Record<string, Look>;

/** For what has no colour of its own: models. Patterns keep neighbours apart without colour. */
export const SERIES_LOOKS: readonly Look[] = [
  { color: "series-1" },
  { color: "series-2", pattern: "hatch" },
  { color: "series-3" },
  { color: "series-4", pattern: "dots" },
  { color: "series-5" },
];
export const REST_LOOK: Look = { color: "mark-idle", pattern: "hatch" };
