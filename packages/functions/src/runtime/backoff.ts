/** Waits between attempts to connect, each drawn at random up to its upper end, so that many runtimes do not come back at once. */
export interface BackoffOptions {
  /** Upper end of the wait before the first retry; the lower end, of all waits, is two fifths of it. */
  firstMs?: number;
  /** Upper end of the second wait; it doubles from there. */
  baseMs?: number;
  maxMs?: number;
}

/**
 * Waits between attempts: quick first ones, since a control plane that starts or restarts is there within a second, then full
 * jitter over a growing span.
 */
export interface Backoff {
  nextMs(): number;
  reset(): void;
}

export function createBackoff({ firstMs = 100, baseMs = 200, maxMs = 30_000 }: BackoffOptions = {}): Backoff {
  const floorMs = firstMs * 0.4;
  let attempt = 0;
  return {
    nextMs() {
      const spanMs = attempt === 0 ? firstMs : Math.min(maxMs, baseMs * 2 ** (attempt - 1));
      attempt++;
      return floorMs + Math.random() * Math.max(0, spanMs - floorMs);
    },
    reset() {
      attempt = 0;
    },
  };
}
