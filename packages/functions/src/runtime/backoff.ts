import { LIMITS } from "@patchbay/protocol";

/** Waits between attempts to connect, each drawn at random up to its upper end, so that many runtimes do not come back at once. */
export interface BackoffOptions {
  /** Upper end of the wait before the first retry; the lower end, of all waits, is two fifths of it. */
  firstMs?: number;
  /** Upper end of the second wait; it doubles from there. */
  baseMs?: number;
  /** Upper end of the waits of the first five minutes without a connection. Default 2,500. */
  recentMaxMs?: number;
  /** Upper end of later waits, and of those after a refusal that only the owner can resolve. Default 30,000. */
  maxMs?: number;
}

/**
 * Waits between attempts: quick first ones, since a control plane that starts or restarts is there within a second, then full
 * jitter. The span stays short for some minutes: the control plane gives up calls of a runtime that is away for longer.
 */
export interface Backoff {
  /** `lasting`: the attempt was refused for a reason that lasts, so the next one is not urgent. */
  nextMs(options?: { lasting?: boolean }): number;
  /** The control plane is there, or was a moment ago. */
  reset(): void;
}

const RECENT_MS = 300_000;

export function createBackoff(
  options: BackoffOptions = {},
  { random = Math.random, now = () => performance.now() }: { random?: () => number; now?: () => number } = {},
): Backoff {
  const { firstMs = 100, baseMs = 200, recentMaxMs = LIMITS.runtimeReturnMs, maxMs = 30_000 } = options;
  const floorMs = firstMs * 0.4;
  let attempt = 0;
  let resetAt = now();
  return {
    nextMs({ lasting = false } = {}) {
      const limitMs = lasting || now() - resetAt > RECENT_MS ? maxMs : Math.min(recentMaxMs, maxMs);
      const spanMs = attempt === 0 ? firstMs : Math.min(limitMs, baseMs * 2 ** (attempt - 1));
      attempt++;
      return floorMs + random() * Math.max(0, spanMs - floorMs);
    },
    reset() {
      attempt = 0;
      resetAt = now();
    },
  };
}
