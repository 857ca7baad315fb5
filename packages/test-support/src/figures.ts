import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Prints the measurements of one guarantee as a line that starts with `reliability`. */
export function printFigure(promise: string, figures: Record<string, string | number>): void {
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  process.stderr.write(`reliability ${promise}: ${shown.join(", ")}\n`);
}

/** The value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The used bytes of the heap after a garbage collection. */
export function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
