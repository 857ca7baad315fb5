/** What the load generator is told to do, and what it answers. Crosses a process boundary as JSON. */
export interface Job {
  port: number;
  requests: readonly LoadRequest[];
  /** Requests under way at a time. */
  concurrency: number;
  /** Ends after so many requests, each of the list in turn, or after this time; what is under way by then is finished and counted. */
  until: { count?: number; ms?: number };
  /** Must stand in each answer so many times, else it counts as an error. */
  expect: readonly Expectation[];
  /** The first moment at which one of these stands in the answer is measured: what the model does first, and its first word. */
  moments?: Partial<Record<Moment, string>>;
}

export interface LoadRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface Expectation {
  text: string;
  times: number;
}

export type Moment = "event" | "token";

export interface Load {
  done: number;
  errors: number;
  /** The first wrong answer, for whoever has to find out. */
  firstError?: string;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Medians. */
  momentMs: Partial<Record<Moment, number>>;
}

/** Sorts `values`. The value below which a share `q` of all lies. */
export function quantile(values: number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * q))]!;
}

/** Leaves the given values in their order. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};
