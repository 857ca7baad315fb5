import { isJsonObject } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { RunRecord } from "../ports/records.ts";
import { type NewRun, type StartedRun, StoreUnavailable } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import { createLeases } from "./leases.ts";
import { patiently } from "./patience.ts";
import { createPlaces } from "./places.ts";
import { createQuarantine } from "./quarantine.ts";
import { cancelled, HandedOver, timedOut } from "./run-failure.ts";
import { type AtHand, runToEnd, type RunDeps } from "./run-to-end.ts";

export const LEASE_MS = 15_000;
const POLL_MS = 1_000;
const CLAIM_LIMIT = 32;
/** Claims of one organisation at one poll: a replica that died may have left hundreds of runs. */
const CLAIMS_AT_ONCE = 10;
/** Who works on so many runs takes up one batch at a poll: replicas with fewer take the rest. */
const CLAIM_UP_TO = 256;
/** How long giving up what runs here may take: followers must be told before the process ends. */
const HAND_OVER_MS = 1_000;
const WATCH_MS = 1_000;

/** Owns the runs of this process: starts and claims them, keeps their leases, cancels them and hands them over. */
export interface Executor {
  readonly owner: string;
  /** Stores a run, and works on it unless it has to wait. */
  start(run: NewRun, atHand: AtHand): Promise<StartedRun>;
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
  const { runs, clock, log, limits } = deps;
  const running = new Map<string, Running>();
  const places = createPlaces(limits.runsPerOrganisation);
  /** Organisations whose waiting runs are being claimed; true where another one came meanwhile. */
  const filling = new Map<string, boolean>();
  /** Threads of this process's runs that may have another run waiting. The poll finds those that are not known here. */
  const awaited = new Set<string>();
  const stopped = new AbortController();
  const draining = new AbortController();
  const lease = { owner, leaseMs: LEASE_MS };
  let accepting = true;
  let handedOver = false;
  let polling: Promise<void> = Promise.resolve();
  const leases = createLeases({ owner, leaseMs: LEASE_MS, running, runs });

  const quarantine = createQuarantine({
    claim: async () => (accepting ? await runs.claimSuspect(lease) : undefined),
    work(run) {
      places.force(run.orgId);
      return work(run);
    },
    clear: (run) => runs.clearSuspect(run),
    clock,
    stopped: stopped.signal,
  });

  /** Works on a run of this process, which has its place already. */
  function work(run: RunRecord, atHand: AtHand = {}): Promise<void> {
    // Accepted or claimed at the last moment: nobody here would look after it any more.
    if (handedOver) return release([run.runId]).catch(releaseFailed);
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
      leavePlace(run.orgId);
      if (awaited.has(run.threadId)) void claimNext(run);
    });
    leases.begin();
    running.set(run.runId, { threadId: run.threadId, abort, ended });
    return ended;
  }

  async function start(run: NewRun, atHand: AtHand): Promise<StartedRun> {
    const { runId, orgId, threadId } = run;
    let hasPlace = places.take(orgId);
    try {
      const started = await runs.start({ ...run, mustWait: !hasPlace });
      if (started.kind !== "started") return started;
      if (started.run.status === "running") {
        void work(started.run, { ...atHand, heldMicros: started.heldMicros });
        hasPlace = false;
      } else if (hasPlace) bus.publish("waiting", { threadId, orgId });
      else void fill(orgId);
      return started;
    } catch (error) {
      // It may have been stored although the store could not say so: else nobody would work on it while its lease lasts.
      if (error instanceof StoreUnavailable) patiently(() => release([runId]), { clock, log }).catch(releaseFailed);
      throw error;
    } finally {
      if (hasPlace) leavePlace(orgId);
    }
  }

  /**
   * The commit that failed may have been applied: the run is claimed again at once, but only after its first failure. A run that
   * gave up its lease because the store hung is free for whoever reaches the store first.
   */
  async function leave(run: RunRecord, how: Awaited<ReturnType<typeof runToEnd>>): Promise<void> {
    if (how === "ended" || handedOver || (how === "left" && run.crashes > 0)) return;
    await runs.release(owner, [run.runId], { crashed: how === "left" }).catch(releaseFailed);
    awaited.add(run.threadId);
  }

  /** Claims up to `limit` runs that wait, as far as their organisation has places; says whether more may wait. */
  async function claim(orgId: string, limit: number, threadId?: string): Promise<boolean> {
    const count = accepting ? places.reserve(orgId, limit) : 0;
    let claimed: RunRecord[] = [];
    try {
      if (count > 0) claimed = await runs.claim({ ...lease, orgId, limit: count, ...(threadId && { threadId }) });
    } catch (error) {
      log.warn("runs could not be claimed", { cause: error });
    }
    places.leave(orgId, count - claimed.length);
    for (const run of claimed) void work(run);
    if (threadId === undefined || count === 0) places.note(orgId, claimed.length === count);
    return count > 0 && claimed.length === count;
  }

  function leavePlace(orgId: string): void {
    places.leave(orgId);
    if (places.waits(orgId)) void fill(orgId);
  }

  /** Gives free places of an organisation to its runs that wait. */
  async function fill(orgId: string): Promise<void> {
    if (filling.has(orgId)) return void filling.set(orgId, true);
    do {
      filling.set(orgId, false);
      while (await claim(orgId, CLAIM_LIMIT));
    } while (filling.get(orgId));
    filling.delete(orgId);
  }

  /** More may wait behind the one that is claimed. */
  async function claimNext({ orgId, threadId }: RunRecord): Promise<void> {
    if (!(await claim(orgId, 1, threadId))) awaited.delete(threadId);
  }

  /** Claims what waits, in turn over the organisations. */
  async function claimAll(): Promise<void> {
    let orgs = await runs.waiting();
    for (let round = 0; round < CLAIMS_AT_ONCE && orgs.length > 0; round++) {
      if (round > 0 && running.size >= CLAIM_UP_TO) return;
      const more: string[] = [];
      for (const orgId of orgs) if (await claim(orgId, CLAIM_LIMIT)) more.push(orgId);
      orgs = more;
    }
  }

  async function endExpired(): Promise<void> {
    for (let batch = 0; batch < CLAIMS_AT_ONCE; batch++) {
      const expired = await runs.claimExpired({ ...lease, limit: CLAIM_LIMIT });
      for (const run of expired) {
        places.force(run.orgId);
        void work(run);
      }
      if (expired.length < CLAIM_LIMIT) return;
    }
  }

  async function poll(): Promise<void> {
    for (;;) {
      try {
        await leases.renew();
        await runs.endLeases({ owner, working: [...running.keys()] });
        await endExpired();
        void quarantine().catch(quarantineFailed);
        await claimAll();
      } catch (error) {
        log.warn("run poll failed", { cause: error });
      }
      await clock.sleep(POLL_MS, { signal: stopped.signal });
    }
  }

  const release = (runIds: string[]): Promise<void> => runs.release(owner, runIds);
  const releaseFailed = (error: unknown): void => log.warn("leases could not be ended", { cause: error });
  function quarantineFailed(error: unknown): void {
    if (!stopped.signal.aborted) log.warn("suspect runs could not be claimed", { cause: error });
  }

  const cancellations = bus.subscribe("cancel", (runId) => {
    const mine = typeof runId === "string" ? running.get(runId) : undefined;
    if (mine) mine.abort.abort(cancelled());
    else
      void endExpired().catch((error: unknown) =>
        log.warn("a queued run could not be cancelled yet", { cause: error }),
      );
  });

  const waits = bus.subscribe("waiting", (body) => {
    const { threadId, orgId } = isJsonObject(body) ? body : {};
    if (typeof threadId !== "string" || typeof orgId !== "string") return;
    if (running.values().some((one) => one.threadId === threadId)) awaited.add(threadId);
    // The run that it waited for ended just now.
    else void claim(orgId, 1, threadId);
  });

  // A replica that stops has given up its leases: the runs are taken up now instead of at the next poll.
  const handovers = bus.subscribe("released", () => {
    claimAll().catch((error: unknown) => log.warn("released runs could not be claimed", { cause: error }));
  });
  let leaseWatch: NodeJS.Timeout | undefined;

  return {
    owner,
    start,
    cancel: (runId) => bus.publish("cancel", runId),
    draining: draining.signal,
    async open() {
      leases.begin();
      polling = poll().catch(() => {});
      leaseWatch = setInterval(leases.giveUpUnrenewed, WATCH_MS);
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
