import type { Budget } from "../budget.ts";

/** Options for one pass. `budget`: default unlimited. */
export interface IndexOptions {
  budget?: Budget;
  signal?: AbortSignal;
}

/** Run facts for filters and sorting, and the words by which runs are found, stored after a run has ended. */
export interface RunIndex {
  /**
   * Indexes all runs that this process ended or `catchUp` found. Throws when some could not be stored: the next call
   * tries again.
   */
  record(options?: IndexOptions): Promise<void>;
  /** Finds incompletely indexed runs, whose process ended or is behind. One replica does so at a time. */
  catchUp(options?: IndexOptions): Promise<unknown>;
  /** Runs that wait for `record` in this process. */
  backlog(): number;
}
