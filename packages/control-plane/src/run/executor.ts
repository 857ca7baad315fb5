import type { Bus } from "../ports/bus.ts";
import type { RunRecord } from "../ports/records.ts";
import { LeaseLost } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import { cancelled, HandedOver, timedOut } from "./run-failure.ts";
import { type AtHand, runToEnd, type RunDeps } from "./run-to-end.ts";

export const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const POLL_MS = 1_000;
/** A replica that could not renew for this long stops its runs itself: another may own them soon. */
const SELF_ABORT_MS = 10_000;
const CLAIM_LIMIT = 32;

/** Owns the runs of this process: begins them, finds those nobody works on, keeps their leases, cancels and hands them over. */
export interface Executor {
  readonly owner: string;
  /** Works a run that was stored as leased to `owner`. */
  begin(run: RunRecord, atHand?: AtHand): void;
  /** Has the replica that works on a thread look for runs that wait there when its own has ended. */
  awaitTurn(threadId: string): void;
  /** Ends a run of any replica that was marked as to be cancelled. */
  cancel(runId: string): void;
  /** Aborted once this process gives up following runs; its reason is what a query that comes later is answered. */
  readonly draining: AbortSignal;
  open(): Promise<void>;
  drain(graceMs: number): Promise<void>;
}

interface Running {
  threadId: string;
  abort: AbortController;
  ended: Promise<void>;
}

export function createExecutor(owner: string, bus: Bus, deps: RunDeps): Executor {
  const { runs, clock, log } = deps;
  const running = new Map<string, Running>();
  /** Threads of this process's runs that perhaps have another waiting. What is not known of here, the poll finds. */
  const awaited = new Set<string>();
  const stopped = new AbortController();
  const draining = new AbortController();
  let accepting = true;
  let handedOver = false;
  let polling: Promise<void> = Promise.resolve();
  let renewedAt = 0;

  function begin(run: RunRecord, atHand: AtHand = {}): void {
    // Accepted or claimed at the last moment: nobody here would look after it any more.
    if (handedOver) return void release([run.runId]).catch(releaseFailed);
    const abort = new AbortController();
    const leftMs = run.deadlineAt - clock.now();
    const deadline = setTimeout(() => abort.abort(timedOut()), Math.max(0, leftMs));
    if (run.cancelRequested) abort.abort(cancelled());
    // The timer alone would leave it a tick, in which a quick model can answer while another run of the thread still goes on.
    else if (leftMs <= 0) abort.abort(timedOut());
    const worked = runToEnd(run, atHand, deps, abort.signal).then((how) => leave(run, how));
    const ended = worked.finally(() => {
      clearTimeout(deadline);
      // After a lease was lost and won back, the same run may be worked on here anew.
      if (running.get(run.runId)?.abort === abort) running.delete(run.runId);
      if (accepting && awaited.has(run.threadId)) void claimNext(run.threadId);
    });
    running.set(run.runId, { threadId: run.threadId, abort, ended });
  }

  /** Perhaps the store had done what it said it could not: what it has of the run is read anew at once, but only once in vain. */
  async function leave(run: RunRecord, how: Awaited<ReturnType<typeof runToEnd>>): Promise<void> {
    if (how !== "left" || run.claims > 1) return;
    await release([run.runId]).catch(releaseFailed);
    awaited.add(run.threadId);
  }

  async function claim(which: { threadId?: string; limit: number }): Promise<number> {
    try {
      const claimed = await runs.claim({ owner, leaseMs: LEASE_MS, ...which });
      for (const run of claimed) begin(run);
      return claimed.length;
    } catch (error) {
      log.warn("runs could not be claimed", { cause: error });
      return 0;
    }
  }

  /** More may wait behind the one that is claimed. */
  async function claimNext(threadId: string): Promise<void> {
    if ((await claim({ threadId, limit: 1 })) === 0) awaited.delete(threadId);
  }

  async function endExpired(): Promise<void> {
    const options = { owner, leaseMs: LEASE_MS, limit: CLAIM_LIMIT };
    for (const run of await runs.claimExpired(options)) begin(run);
  }

  async function renew(): Promise<void> {
    if (running.size === 0) {
      renewedAt = performance.now();
      return;
    }
    const mine = [...running.keys()];
    const held = new Map((await runs.renew(owner, mine, LEASE_MS)).map((run) => [run.runId, run]));
    renewedAt = performance.now();
    for (const id of mine) {
      const lease = held.get(id);
      if (!lease) running.get(id)?.abort.abort(new LeaseLost("lease ended"));
      // Told by the bus as a rule; it may have been told before the run was begun here, or not at all.
      else if (lease.cancelRequested) running.get(id)?.abort.abort(cancelled());
    }
  }

  async function poll(): Promise<void> {
    for (;;) {
      try {
        // Before any claim: runs of this process whose leases ended while the store was out of reach are not to be claimed.
        if (performance.now() - renewedAt >= RENEW_MS) await renew();
        await endExpired();
        if (accepting) await claim({ limit: CLAIM_LIMIT });
      } catch (error) {
        log.warn("looking after runs failed", { cause: error });
        if (performance.now() - renewedAt > SELF_ABORT_MS)
          for (const one of running.values()) one.abort.abort(new LeaseLost("lease could not be renewed"));
      }
      await clock.sleep(POLL_MS, { signal: stopped.signal });
    }
  }

  const release = (runIds: string[]): Promise<void> => runs.release(owner, runIds);
  const releaseFailed = (error: unknown): void => log.warn("leases could not be ended", { cause: error });

  const cancellations = bus.subscribe("cancel", (runId) => {
    const mine = typeof runId === "string" ? running.get(runId) : undefined;
    if (mine) mine.abort.abort(cancelled());
    else
      void endExpired().catch((error: unknown) =>
        log.warn("a queued run could not be cancelled yet", { cause: error }),
      );
  });

  const waits = bus.subscribe("waiting", (threadId) => {
    if (typeof threadId !== "string") return;
    if (running.values().some((one) => one.threadId === threadId)) awaited.add(threadId);
    // The run that it waited for ended just now.
    else if (accepting) void claim({ threadId, limit: 1 });
  });

  return {
    owner,
    begin,
    awaitTurn: (threadId) => bus.publish("waiting", threadId),
    cancel: (runId) => bus.publish("cancel", runId),
    draining: draining.signal,
    async open() {
      renewedAt = performance.now();
      polling = poll().catch(() => {});
    },
    async drain(graceMs) {
      accepting = false;
      const ended = Promise.all([...running.values()].map((one) => one.ended));
      const timer = new AbortController();
      await Promise.race([ended, clock.sleep(graceMs, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
      stopped.abort();
      await polling;
      await handOver();
      draining.abort(new ServiceError("unavailable", "This replica is stopping. Try again in a moment."));
      cancellations[Symbol.dispose]();
      waits[Symbol.dispose]();
    },
  };

  async function handOver(): Promise<void> {
    handedOver = true;
    const left = [...running.entries()];
    for (const [, one] of left) one.abort.abort(new HandedOver("this process is stopping"));
    await Promise.all(left.map(([, one]) => one.ended));
    // The next start, or another replica, takes them up; without this it would wait for the leases to end.
    await release(left.map(([id]) => id)).catch(releaseFailed);
  }
}
