import { formatCompact, formatCount, formatUsd } from "../format/numbers.ts";
import { formatDuration } from "../format/times.ts";

/** What a chart's values are. */
export type Unit = "count" | "ms" | "usd";

const FULL: Record<Unit, (value: number) => string> = { count: formatCount, ms: formatDuration, usd: formatUsd };

export const formatValue = (value: number | null, unit: Unit): string => (value === null ? "–" : FULL[unit](value));

/** A tick's label; all of an axis have the digits that its step needs. */
export function formatTick(value: number, unit: Unit, step: number): string {
  if (unit === "count") return formatCompact(value);
  if (unit === "usd") {
    const digits = step >= 1 ? 0 : Math.max(2, Math.ceil(-Math.log10(step) - 1e-9));
    return `$${value >= 10_000 ? formatCompact(value) : value.toFixed(digits)}`;
  }
  if (value === 0) return "0";
  if (value < 1_000) return `${value} ms`;
  if (value < 60_000) return `${value / 1_000} s`;
  return value < 3_600_000 ? `${value / 60_000} min` : `${value / 3_600_000} h`;
}
