import { LeaseLost, type RunStore } from "../ports/run-store.ts";
import { cancelled } from "./run-failure.ts";

const RENEW_MS = 5_000;
/** A replica that could not renew for this long stops its runs itself: another may own them soon. */
const SELF_ABORT_MS = 10_000;
/** Renewals that fail for longer mean that the store hangs, and not that this process was frozen. */
const RENEWAL_MS = 2_000;

/** Keeps the leases of the runs that this process works on. */
export interface Leases {
  /** Called before a run begins, whose lease is new. */
  begin(): void;
  /** Renews all leases where that is due; runs whose lease was lost, or that are to be cancelled, are aborted. */
  renew(): Promise<void>;
  /** Aborts all runs before their leases run out where the store hangs: a renewal then never returns. */
  giveUpUnrenewed(): void;
}

export function createLeases({
  owner,
  leaseMs,
  running,
  runs,
}: {
  owner: string;
  leaseMs: number;
  running: ReadonlyMap<string, { abort: AbortController }>;
  runs: Pick<RunStore, "renew">;
}): Leases {
  let renewedAt = performance.now();
  /** When the first renewal was tried that none has succeeded since. */
  let renewalSince: number | undefined;

  return {
    begin() {
      // Without other runs nothing was renewed, which says nothing about the store.
      if (running.size === 0) renewedAt = performance.now();
    },

    async renew() {
      const began = performance.now();
      if (began - renewedAt < RENEW_MS) return;
      const mine = [...running.keys()];
      if (mine.length > 0) renewalSince ??= began;
      const held = new Map((await runs.renew(owner, mine, leaseMs)).map((run) => [run.runId, run]));
      renewedAt = began;
      renewalSince = undefined;
      for (const id of mine) {
        const lease = held.get(id);
        if (!lease) running.get(id)?.abort.abort(new LeaseLost("lease ended"));
        // The bus as a rule brought this before, but a run may have begun here after that.
        else if (lease.cancelRequested) running.get(id)?.abort.abort(cancelled());
      }
    },

    giveUpUnrenewed() {
      const now = performance.now();
      const hangs = renewalSince !== undefined && now - renewalSince > RENEWAL_MS;
      if (!hangs || now - renewedAt <= SELF_ABORT_MS) return;
      for (const one of running.values()) one.abort.abort(new LeaseLost("lease could not be renewed"));
    },
  };
}
