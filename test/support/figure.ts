/** Prints what a test measured of a promise, as one line that a reader of the output finds by its beginning. */
export function printFigure(promise: string, figures: Record<string, string | number>): void {
  const told = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  process.stderr.write(`reliability ${promise}: ${told.join(", ")}\n`);
}

/** The value below which the given share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
