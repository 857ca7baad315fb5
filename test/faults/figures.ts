/** Measurements of a scenario. Names end in their unit. */
export type Figures = Readonly<Record<string, number | string>>;

/** The outcome of a scenario: its figures, and every broken guarantee except those that its figures show. */
export interface Outcome {
  figures: Figures;
  violations: string[];
}

/** The value that this share of the values does not exceed; 0 without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0);
}

export function largest(values: readonly number[]): number {
  return Math.round(values.reduce((most, value) => Math.max(most, value), 0));
}

export function countBy<T>(items: readonly T[], word: (item: T) => string): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(items, word)].map(([key, group]) => [key, group.length]));
}

/** `fault-lab <scenario>: name=value …`, one line. */
export function figureLine(scenario: string, figures: Figures): string {
  const shown = Object.entries(figures).map(([name, value]) => `${name}=${value}`);
  return `fault-lab ${scenario}: ${shown.join(" ")}`;
}
