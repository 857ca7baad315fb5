/** A job of the load generator, sent to its process as JSON. */
export interface Job {
  /** The connections are spread over them. */
  ports: readonly number[];
  requests: readonly LoadRequest[];
  /** Requests at the same time. */
  concurrency: number;
  /** Ends after `count` requests, taken from the list in turn, or after `ms`; requests in progress are finished and counted. */
  until: { count?: number; ms?: number };
  /** Texts that each answer must contain exactly `times` times; otherwise it counts as an error. */
  expect: readonly Expectation[];
  /** Texts whose first appearance in an answer is timed: the first event of the model, and its first token. */
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
  /** The first wrong answer, for the report. */
  firstError?: string;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Medians. */
  momentMs: Partial<Record<Moment, number>>;
}

/** The value at quantile `q`. Sorts `values` in place. */
export function quantile(values: number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * q))]!;
}

/** Does not change the order of `values`. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};
