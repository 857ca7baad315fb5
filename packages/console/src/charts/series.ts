/** How a series is told apart: never by colour alone. */
export interface Look {
  color: Color;
  /** Over the colour, in bars. */
  pattern?: "hatch" | "dots";
  /** Of lines. */
  dash?: string;
}

export type Color =
  | "series-1"
  | "series-2"
  | "series-3"
  | "series-4"
  | "series-5"
  | "series-6"
  | "mark-ok"
  | "mark-bad"
  | "mark-warn"
  | "mark-idle"
  | "mark-info";

export interface Series {
  key: string;
  label: string;
  look: Look;
  /** One for each step; null where there is nothing to tell. */
  values: readonly (number | null)[];
  /** Beside its name in the legend: its sum, say. */
  note?: string;
}

export const cssColor = (color: Color): string => `var(--${color})`;

/** Sums of what is stacked, step by step. */
export function stackTotals(series: readonly Series[]): number[] {
  const steps = Math.max(0, ...series.map(({ values }) => values.length));
  return Array.from({ length: steps }, (_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
}

/** The largest value that a chart has to show. */
export function topOf(series: readonly Series[], kind: "bars" | "lines"): number {
  const values = kind === "bars" ? stackTotals(series) : series.flatMap(({ values }) => values.map((v) => v ?? 0));
  return values.reduce((top, value) => Math.max(top, value), 0);
}

/** Stretches of steps that have a value: lines do not cross what is not known. */
export function runsOf(values: readonly (number | null)[]): { from: number; to: number }[] {
  const runs: { from: number; to: number }[] = [];
  values.forEach((value, i) => {
    if (value === null) return;
    const last = runs.at(-1);
    if (last?.to === i - 1) last.to = i;
    else runs.push({ from: i, to: i });
  });
  return runs;
}
