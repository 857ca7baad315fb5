import type { Figures } from "../figures.ts";

/** A guarantee of docs/reliability.md with what proves it: at least one test, or a figure within its limit. */
export interface Promised {
  /** One sentence with its numbers, as Markdown. */
  promise: string;
  /** Names of tests as they are written, by file. */
  tests?: Readonly<Record<string, string | readonly string[]>>;
  /** Inclusive limits of figures, by scenario and figure. */
  atMost?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The limit of one figure. */
export interface Limit {
  scenario: string;
  figure: string;
  atMost: number;
}

export function limitsOf({ atMost = {} }: Promised): Limit[] {
  return Object.entries(atMost).flatMap(([scenario, limits]) =>
    Object.entries(limits).map(([figure, limit]) => ({ scenario, figure, atMost: limit })),
  );
}

/** Why the figures of the scenario do not keep the limit, as one line. Undefined if they do. */
export function brokenLimit({ scenario, figure, atMost }: Limit, figures: Figures): string | undefined {
  const value = figures[figure];
  if (typeof value === "number" && value <= atMost) return undefined;
  const found = value === undefined ? "missing" : shown(figure, value);
  return `${figure} of ${scenario} is ${found}, at most ${shown(figure, atMost)} is promised`;
}

/** A figure with the unit that its name ends in. */
export function shown(figure: string, value: number | string): string {
  if (typeof value === "string") return value;
  const number = (amount: number) => amount.toLocaleString("en-US");
  if (figure.endsWith("Ms")) return value < 1_000 ? `${number(value)} ms` : `${number(value / 1_000)} s`;
  const unit = /(?:Kb|Mb|Percent|Seconds)$/.exec(figure)?.[0];
  return unit === undefined ? number(value) : `${number(value)} ${UNITS[unit]}`;
}

const UNITS: Record<string, string> = { Kb: "KB", Mb: "MB", Percent: "%", Seconds: "s" };
