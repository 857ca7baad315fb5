import { monotonicMs, randomFraction } from "@patchbay/kit/time";
import { LIMITS } from "@patchbay/protocol";

/** Waits between attempts to connect, each random up to its upper end, so that many runtimes do not reconnect at the same moment. */
export interface BackoffOptions {
  /** Upper end of the wait before the first retry. The lower end of every wait is two fifths of it. Default 100. */
  firstMs?: number;
  /** Upper end of the second wait, which doubles from there. Default 200. */
  baseMs?: number;
  /** Upper end of waits in the first five minutes without a connection. Default 2,500. */
  recentMaxMs?: number;
  /** Upper end of later waits in the first day, and after a refusal that only the owner can resolve. Default 10,000. */
  dayMaxMs?: number;
  /** Upper end of later waits. Default 30,000. */
  maxMs?: number;
  /**
   * How long a runtime that was connected before retries when its key or its function set is refused. Default 60,000: a
   * control plane that starts with an old database, or a rollout of two versions, can refuse for a moment what it
   * accepts afterwards.
   */
  refusedMs?: number;
}

/**
 * One runtime's waits: short first ones, because a control plane restarts within a second, then full jitter. The waits
 * stay short for five minutes, because the control plane gives up a runtime's calls when it is away for longer than
 * `recentMaxMs`. For a day they stay below the 20 s for which queries wait after a control plane starts.
 */
export interface Backoff {
  /**
   * `lasting`: the attempt failed for a reason that only the owner can resolve. `refused`: the key or the function set was
   * refused; undefined when that has lasted for `refusedMs`.
   */
  nextMs(options?: { lasting?: boolean }): number;
  nextMs(options: { lasting?: boolean; refused: boolean }): number | undefined;
  /** Begins a new series: the control plane is available, or was a moment ago. */
  reset(): void;
}

const RECENT_MS = 300_000;
const DAY_MS = 86_400_000;

export function createBackoff(
  options: BackoffOptions = {},
  { random = randomFraction, now = monotonicMs }: { random?: () => number; now?: () => number } = {},
): Backoff {
  const { firstMs = 100, baseMs = 200, recentMaxMs = LIMITS.runtimeReturnMs, dayMaxMs = 10_000 } = options;
  const { maxMs = 30_000, refusedMs = 60_000 } = options;
  const floorMs = firstMs * 0.4;
  let attempt = 0;
  let resetAt = now();
  /** When the current series of refusals began. */
  let refusedAt: number | undefined;
  function nextMs(options?: { lasting?: boolean }): number;
  function nextMs(options: { lasting?: boolean; refused: boolean }): number | undefined;
  function nextMs({ lasting = false, refused = false } = {}): number | undefined {
    refusedAt = refused ? (refusedAt ?? now()) : undefined;
    const leftMs = refusedAt === undefined ? Number.POSITIVE_INFINITY : refusedAt + refusedMs - now();
    if (leftMs <= 0) return undefined;
    const awayMs = now() - resetAt;
    const usualMs = awayMs > DAY_MS ? maxMs : lasting || awayMs > RECENT_MS ? dayMaxMs : recentMaxMs;
    const limitMs = Math.min(usualMs, maxMs);
    const spanMs = attempt === 0 ? firstMs : Math.min(limitMs, baseMs * 2 ** (attempt - 1));
    attempt++;
    return Math.min(leftMs, floorMs + random() * Math.max(0, spanMs - floorMs));
  }
  return {
    nextMs,
    reset() {
      attempt = 0;
      resetAt = now();
      refusedAt = undefined;
    },
  };
}
