import type { Bus } from "../ports/bus.ts";
import type { RunRecord } from "../ports/records.ts";
import { LeaseLost } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import { patiently } from "./patience.ts";
import { cancelled, HandedOver, timedOut } from "./run-failure.ts";
import { type AtHand, runToEnd, type RunDeps } from "./run-to-end.ts";

export const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const POLL_MS = 1_000;
/** A replica that could not renew for this long stops its runs itself: another may own them soon. */
const SELF_ABORT_MS = 10_000;
const CLAIM_LIMIT = 32;
/** Claims at one poll: a replica that died may have left hundreds of runs. */
const CLAIMS_AT_ONCE = 10;
/** Who works on so many runs takes up one batch at a poll: replicas with fewer take the rest. */
const CLAIM_UP_TO = 256;
/** How long giving up what runs here may take: followers must be told before the process ends. */
const HAND_OVER_MS = 1_000;
const WATCH_MS = 1_000;
/** Renewals that do not succeed for longer say that the store stands still, and not that this process did. */
const RENEWAL_MS = 2_000;

/** Owns the runs of this process: begins them, finds those nobody works on, keeps their leases, cancels and hands them over. */
export interface Executor {
  readonly owner: string;
  /** Works a run that was stored as leased to `owner`. */
  begin(run: RunRecord, atHand?: AtHand): void;
  /** Gives up a run that was perhaps stored although the store could not say so: else nobody works on it while its lease lasts. */
  giveUp(runId: string): void;
  /** Has the replica that works on a thread look for runs that wait there when its own has ended. */
  awaitTurn(threadId: string): void;
  /** Ends a run of any replica that was marked as to be cancelled. */
  cancel(runId: string): void;
  /** Aborted once this process gives up following runs; its reason is what a query that comes later is answered. */
  readonly draining: AbortSignal;
  open(): Promise<void>;
  drain(graceMs: number, followMs: number): Promise<void>;
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
  /** When the first renewal was tried that none has succeeded since. */
  let renewalSince: number | undefined;

  function begin(run: RunRecord, atHand: AtHand = {}): void {
    // Accepted or claimed at the last moment: nobody here would look after it any more.
    if (handedOver) return void release([run.runId]).catch(releaseFailed);
    const abort = new AbortController();
    const leftMs = run.deadlineAt - clock.now();
    const deadline = setTimeout(() => abort.abort(timedOut()), Math.max(0, leftMs));
    if (run.cancelRequested) abort.abort(cancelled());
    // The timer alone would leave it a tick, in which a quick model can answer while another run of the thread still goes on.
    else if (leftMs <= 0) abort.abort(timedOut());
    const worked = deps
      .within(run.orgId, () => runToEnd(run, atHand, deps, abort.signal))
      .then((how) => leave(run, how));
    const ended = worked.finally(() => {
      clearTimeout(deadline);
      // After a lease was lost and won back, the same run may be worked on here anew.
      if (running.get(run.runId)?.abort === abort) running.delete(run.runId);
      if (accepting && awaited.has(run.threadId)) void claimNext(run.threadId);
    });
    // Its lease is new; what was known of leases before it says nothing of it.
    if (running.size === 0) renewedAt = performance.now();
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

  async function claimAll(): Promise<void> {
    for (let batch = 0; batch < CLAIMS_AT_ONCE; batch++) {
      if (!accepting || (batch > 0 && running.size >= CLAIM_UP_TO)) return;
      if ((await claim({ limit: CLAIM_LIMIT })) < CLAIM_LIMIT) return;
    }
  }

  async function endExpired(): Promise<void> {
    const options = { owner, leaseMs: LEASE_MS, limit: CLAIM_LIMIT };
    for (let batch = 0; batch < CLAIMS_AT_ONCE; batch++) {
      const expired = await runs.claimExpired(options);
      for (const run of expired) begin(run);
      if (expired.length < CLAIM_LIMIT) return;
    }
  }

  async function renew(): Promise<void> {
    if (running.size === 0) {
      renewedAt = performance.now();
      return;
    }
    const mine = [...running.keys()];
    const began = performance.now();
    renewalSince ??= began;
    const held = new Map((await runs.renew(owner, mine, LEASE_MS)).map((run) => [run.runId, run]));
    renewedAt = began;
    renewalSince = undefined;
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
        await claimAll();
      } catch (error) {
        log.warn("looking after runs failed", { cause: error });
      }
      await clock.sleep(POLL_MS, { signal: stopped.signal });
    }
  }

  /** A store that stands still answers no renewal: what may be another's soon is given up here in time, beside the poll that waits. */
  function giveUpUnrenewed(): void {
    const now = performance.now();
    const standsStill = renewalSince !== undefined && now - renewalSince > RENEWAL_MS;
    if (!standsStill || now - renewedAt <= SELF_ABORT_MS) return;
    for (const one of running.values()) one.abort.abort(new LeaseLost("lease could not be renewed"));
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

  // A replica that stops has given up its leases: the runs are taken up now instead of at the next poll.
  const handovers = bus.subscribe("released", () => {
    void claimAll();
  });
  let leaseWatch: NodeJS.Timeout | undefined;

  return {
    owner,
    begin,
    giveUp(runId) {
      patiently(() => release([runId]), { clock, log }).catch(releaseFailed);
    },
    awaitTurn: (threadId) => bus.publish("waiting", threadId),
    cancel: (runId) => bus.publish("cancel", runId),
    draining: draining.signal,
    async open() {
      renewedAt = performance.now();
      polling = poll().catch(() => {});
      leaseWatch = setInterval(giveUpUnrenewed, WATCH_MS);
    },
    async drain(graceMs, followMs) {
      accepting = false;
      const ended = Promise.all([...running.values()].map((one) => one.ended));
      const timer = new AbortController();
      await Promise.race([ended, clock.sleep(graceMs, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
      stopped.abort();
      // Neither a store nor a model that stands still may keep those who follow from being told.
      await Promise.race([polling, clock.sleep(HAND_OVER_MS)]);
      const left = running.size;
      await Promise.race([handOver(), clock.sleep(2 * HAND_OVER_MS)]);
      if (left > 0) await clock.sleep(followMs);
      draining.abort(new ServiceError("unavailable", "This replica is stopping. Try again in a moment."));
      cancellations[Symbol.dispose]();
      waits[Symbol.dispose]();
      handovers[Symbol.dispose]();
      clearInterval(leaseWatch);
    },
  };

  /** Gives up what still runs here. */
  async function handOver(): Promise<void> {
    handedOver = true;
    const left = [...running.entries()];
    for (const [, one] of left) one.abort.abort(new HandedOver("this process is stopping"));
    await Promise.race([Promise.all(left.map(([, one]) => one.ended)), clock.sleep(HAND_OVER_MS)]);
    // The next start, or another replica, takes them up; without this it would wait for the leases to end.
    await release(left.map(([id]) => id)).catch(releaseFailed);
    if (left.length > 0) bus.publish("released", left.length);
  }
}
