import { formatCompact, formatCount, formatUsd } from "../format/numbers.ts";
import { formatDuration } from "../format/times.ts";

/** The unit of a chart's values. */
export type Unit = "count" | "ms" | "usd";

const FULL: Record<Unit, (value: number) => string> = { count: formatCount, ms: formatDuration, usd: formatUsd };

export const formatValue = (value: number | null, unit: Unit): string => (value === null ? "–" : FULL[unit](value));

/** The label of a tick. All ticks of an axis have the digits that `step` needs. */
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

export interface ValueTicks {
  values: number[];
  step: number;
  /** The last tick, where the axis ends. */
  top: number;
}

/** Steps in seconds that read well as durations. Below a second, steps are decimal. */
const DURATION_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];

/** About `count` ticks from zero to `max` or just above it. */
export function valueTicks(max: number, unit: Unit, count = 4): ValueTicks {
  const step = stepFor(Math.max(0, max) / count, unit);
  const last = Math.max(1, Math.ceil(max / step - 1e-9));
  const values = Array.from({ length: last + 1 }, (_, i) => Number((i * step).toPrecision(12)));
  return { values, step, top: values[last] ?? step };
}

function stepFor(rough: number, unit: Unit): number {
  if (unit === "count") return rough <= 1 ? 1 : decimalStep(rough);
  if (unit === "usd") return rough <= 0 ? 0.01 : decimalStep(rough);
  if (rough <= 1) return 1;
  if (rough < 1_000) return Math.min(1_000, decimalStep(rough));
  const seconds = DURATION_STEPS.find((step) => step * 1_000 >= rough);
  return seconds === undefined ? Math.ceil(rough / 86_400_000) * 86_400_000 : seconds * 1_000;
}

/** The smallest of 1, 2, 5, 10, 20, ... that is at least `rough`. */
function decimalStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = [1, 2, 5].find((digit) => digit * power >= rough * (1 - 1e-9)) ?? 10;
  return digit * power;
}
