import { monotonicMs, sleep } from "@patchbay/kit/time";
import type { Budget, Share } from "@patchbay/engine/ports/store/upkeep";

/** A budget's clocks. */
export interface Meter {
  /** Milliseconds of work so far. */
  used(): number;
  /** Milliseconds on a monotonic clock. */
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
}

/** How long unused time is kept: small work makes no pauses. */
const KEPT_MS = 1_000;
/** Recent batches per kind that are compared. */
const COMPARED = 8;

/**
 * A budget that pauses between batches, so that they use no more than their share of time. While a batch waits for its
 * statements, the process works for queries, which the meter cannot distinguish: a row counts with the lowest cost per
 * row in recent batches.
 */
export function createBudget({ used, now, sleep }: Meter, { least, most, full }: Share): Budget {
  const costs = new Map<string, number[]>();
  let paidAt = now() - KEPT_MS;
  let found = 0;

  function costOf(kind: string, rows: number, ms: number): number {
    const key = rows === 0 ? `${kind}, nothing found` : kind;
    const last = [...(costs.get(key) ?? []), ms / Math.max(1, rows)].slice(-COMPARED);
    costs.set(key, last);
    return Math.min(...last) * Math.max(1, rows);
  }

  return {
    async spend(kind, batch, { waiting, signal } = {}) {
      const pauseMs = paidAt - now();
      if (pauseMs > 0) await sleep(pauseMs, signal).catch(() => {});
      if (signal?.aborted) return 0;
      paidAt = Math.max(paidAt, now() - KEPT_MS);
      const before = used();
      const rows = await batch();
      const ms = costOf(kind, rows, used() - before);
      found += rows;
      const share = least + (most - least) * Math.min(1, (waiting ?? found) / full);
      paidAt += ms / share;
      return rows;
    },
  };
}

/** This process's meter. `used`: as `StoreDialect.used`. */
export const meterOf = (used: () => number): Meter => ({
  used,
  now: monotonicMs,
  sleep: (ms, signal) => sleep(ms, { ...(signal && { signal }) }),
});
