/** The control plane's clock. Tests use one that they advance by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with `signal.reason` when aborted first. */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
}
