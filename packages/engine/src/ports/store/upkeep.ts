/** The share of a process's time that background work may take. */
export interface Share {
  /** The share when nothing waits: 0.04 is 40 ms per second. */
  least: number;
  /** The largest share. */
  most: number;
  /** Number of waiting rows at which the share reaches `most`. Below, it grows in proportion. */
  full: number;
}

/** Options for a batch. */
export interface BatchOptions {
  /** Rows that wait behind the batch. Default: as many as this budget's batches have found. */
  waiting?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Limits background work to its share, so that queries have the rest. */
export interface Budget {
  /**
   * Waits until a pause has paid for the previous batches, then runs this one, and returns its row count. `kind`:
   * batches with about the same cost per row. Returns 0 without running it when the signal is aborted.
   */
  spend(kind: string, batch: () => Promise<number>, options?: BatchOptions): Promise<number>;
}

/** Runs every batch at once. */
export const unlimited: Budget = {
  spend: async (_kind, batch, { signal } = {}) => (signal?.aborted ? 0 : batch()),
};

/** Background work that one replica does for all. */
export type UpkeepName = "index" | "seals" | "sweep";

export interface Upkeep {
  /**
   * Runs `work` and returns true, or false at once if another replica runs work with this name. If a replica dies, the
   * name is free within a minute.
   */
  exclusively(name: UpkeepName, work: () => Promise<unknown>): Promise<boolean>;
  /**
   * A budget for one process. A batch costs its statements' processor time if they run in this process (the embedded
   * database), else the time that the database server takes for them.
   */
  budget(share: Share): Budget;
}

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

/** How many days rows are kept. */
export interface Retention {
  /** Ended runs, and threads, sessions, runtimes and function sets without references afterwards. */
  days: number;
  /** Audit entries. Default 365. */
  auditDays: number;
  /** Single usage rows and credit movements. Older ones become sums per day. Default 90. */
  usageDays: number;
}

/**
 * Options for `Store.sweep`. `budget`: default the service's. `signal` ends the sweep between two statements; the next
 * sweep does the rest.
 */
export interface SweepOptions extends IndexOptions {
  /** Called for each part that fails. Without it, the first failure is thrown after the last part. */
  failed?: (part: string, error: unknown) => void;
}
