import type { Unit } from "./units.ts";

export interface ValueTicks {
  values: number[];
  step: number;
  /** Where the axis ends: the last tick. */
  top: number;
}

/** Steps of durations that people count in; below a second they are decimal. */
const DURATION_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];

/** Ticks from zero to `max` or just over it, about `wanted` of them. */
export function valueTicks(max: number, unit: Unit, wanted = 4): ValueTicks {
  const step = stepFor(Math.max(0, max) / wanted, unit);
  const count = Math.max(1, Math.ceil(max / step - 1e-9));
  const values = Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
  return { values, step, top: values[count] ?? step };
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
