/** What lists of runs filter and sort by, and the words by which runs are found, stored after a run has ended. */
export interface RunIndex {
  /** Stores what is missing of the runs that this process ended or `catchUp` found, for about `budgetMs`. Default: all. */
  record(budgetMs?: number): Promise<void>;
  /** Finds runs whose process could not store it, since the call before, or since an hour before the newest stored one. */
  catchUp(signal?: AbortSignal): Promise<void>;
}
