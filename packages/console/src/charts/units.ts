import { nice, ticks } from "d3-array";
import { formatCompact, formatCount, formatUsd } from "../format/numbers.ts";
import { formatDuration } from "../format/times.ts";

/** The unit for a chart's values. */
export type Unit = "count" | "ms" | "usd";

const FULL: Record<Unit, (value: number) => string> = { count: formatCount, ms: formatDuration, usd: formatUsd };

export const formatValue = (value: number | null, unit: Unit): string => (value === null ? "–" : FULL[unit](value));

/** Duration units: an axis has the largest one that it holds twice. */
const TIME_UNITS = [
  { ms: 3_600_000, name: "h" },
  { ms: 60_000, name: "min" },
  { ms: 1_000, name: "s" },
];

/** Round values from zero to `max` or just above it, and their labels. */
export function valueTicks(max: number, unit: Unit): { values: number[]; label: (value: number) => string } {
  const { ms, name } = (unit === "ms" && TIME_UNITS.find(({ ms }) => max >= 2 * ms)) || { ms: 1, name: "ms" };
  const top = Math.max(max / ms, unit === "usd" ? 0.01 : 1);
  const count = unit === "count" ? Math.min(4, top) : 4;
  const values = ticks(0, nice(0, top, count)[1], count);
  const digits = Math.max(2, ...values.map((value) => String(value).split(".")[1]?.length ?? 0));
  return {
    values: values.map((value) => value * ms),
    label: (value) => {
      if (unit === "count") return formatCompact(value);
      if (unit === "ms") return value === 0 ? "0" : `${Number((value / ms).toPrecision(6))} ${name}`;
      return `$${max >= 10_000 ? formatCompact(value) : value.toFixed(max >= 4 ? 0 : digits)}`;
    },
  };
}
