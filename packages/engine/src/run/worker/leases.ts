import { monotonicMs } from "@patchbay/kit/time";
import { LeaseLost, type RunStore } from "../../ports/store/run-store.ts";
import { cancelled } from "../run-failure.ts";

export const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** A replica that could not renew its leases for this long aborts its runs: another replica may claim them soon. */
const SELF_ABORT_MS = 10_000;
/** A renewal that takes longer than this means that the store hangs. A shorter one may mean that this process was frozen. */
const RENEWAL_MS = 2_000;

/**
 * Keeps the leases on this process's runs. Two processes must never work on one run: each would send its calls and write its events. The fence rejects a former
 * owner's writes, but not its calls, so a process stops by itself before its lease expires.
 */
export function createLeases(
  running: ReadonlyMap<string, { abort: AbortController }>,
  { owner, runs }: { owner: string; runs: Pick<RunStore, "renew"> },
) {
  // Monotonic time: the system clock may be set while a lease is held.
  let renewedAt = monotonicMs();
  /** When the first renewal began that has not succeeded yet. */
  let renewingSince: number | undefined;

  return {
    /**
     * Call before a run begins with a new lease. `since`: when the request for it left, in milliseconds of
     * `performance.now()`.
     */
    begin(since: number): void {
      // Without runs nothing was renewed. An old `renewedAt` would abort the new run although the store works. With runs, it may be
      // newer than the lease, if the answer was slow.
      renewedAt = running.size === 0 ? since : Math.min(renewedAt, since);
    },

    /** Renews all leases when that is due. Aborts runs whose lease was lost or that are to be cancelled. */
    async renew(): Promise<void> {
      const began = monotonicMs();
      if (began - renewedAt < RENEW_MS) return;
      const mine = [...running.keys()];
      if (mine.length > 0) renewingSince ??= began;
      const renewed = new Map((await runs.renew(owner, mine, LEASE_MS)).map((run) => [run.runId, run]));
      // The beginning, not the end: the store may have extended the leases right after the request left.
      renewedAt = began;
      renewingSince = undefined;
      for (const id of mine) {
        const lease = renewed.get(id);
        if (!lease) running.get(id)?.abort.abort(new LeaseLost("lease ended"));
        // The bus usually reports a cancellation earlier. It may lose the message, or the run may have begun here after
        // it.
        else if (lease.cancelRequested) running.get(id)?.abort.abort(cancelled());
      }
    },

    /** Aborts all runs before their leases expire when the store hangs, because a renewal then never returns. */
    abortUnrenewed(): void {
      const now = monotonicMs();
      const hangs = renewingSince !== undefined && now - renewingSince > RENEWAL_MS;
      if (!hangs || now - renewedAt <= SELF_ABORT_MS) return;
      for (const one of running.values()) one.abort.abort(new LeaseLost("lease could not be renewed"));
    },
  };
}

export type Leases = ReturnType<typeof createLeases>;
