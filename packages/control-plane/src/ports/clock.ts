/** Time as the service sees it; tests put a hand-driven one here. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with `signal.reason` when aborted first. */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
}
