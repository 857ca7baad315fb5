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
