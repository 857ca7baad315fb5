import { type Expression, sql } from "kysely";

/** From one bin to the next. The middle of a bin is at most 4.5 % from whatever lies in it. */
const GROWTH = 1.09;
const BELOW_ONE = -1;

/** How many durations lie in each bin. */
export type Histogram = Map<number, number>;

/** The bin of a duration, a whole number of milliseconds, as the database computes it. */
export const binOf = (ms: Expression<number>) =>
  sql<number>`case when ${ms} < 1 then ${sql.lit(BELOW_ONE)}
    else cast(floor(ln(cast(${ms} as double precision)) / ${sql.lit(Math.log(GROWTH))}) as integer) end`;

export function addToBin(histogram: Histogram, bin: number, count: number): void {
  histogram.set(bin, (histogram.get(bin) ?? 0) + count);
}

/** The least duration that the given share of all does not exceed, within 5 %; null of none. */
export function percentile(histogram: Histogram, share: number): number | null {
  const bins = [...histogram].toSorted(([a], [b]) => a - b);
  const rank = Math.ceil(share * bins.reduce((sum, [, count]) => sum + count, 0));
  let passed = 0;
  for (const [bin, count] of bins) {
    passed += count;
    if (passed >= rank) return middleOf(bin);
  }
  return null;
}

/** The only whole number of the bin, or what is nearest to all of them, to three digits. */
function middleOf(bin: number): number {
  if (bin === BELOW_ONE) return 0;
  const first = Math.ceil(GROWTH ** bin);
  return first + 1 < GROWTH ** (bin + 1) ? Number((GROWTH ** (bin + 0.5)).toPrecision(3)) : first;
}
