import { clearTimer, monotonicMs, setInterval, setTimeout } from "@patchbay/kit/time";
import { isJsonObject, type JsonValue } from "@patchbay/kit";
import { type Bus, DUE } from "../../ports/bus.ts";
import type { RunRecord } from "../../ports/records.ts";
import { type NewRun, type StartedRun, StoreUnavailable } from "../../ports/store/run-store.ts";
import { ServiceError } from "../../ports/service-error.ts";
import { type RunContext, withRetry } from "../run-context.ts";
import { cancelled, HandedOver, timedOut } from "../run-failure.ts";
import { createClaims } from "./claims.ts";
import { createLeases, type Leases } from "./leases.ts";
import { type AtHand, type Outcome, runToEnd } from "./run-to-end.ts";

const POLL_MS = 1_000;
const LEASE_WATCH_MS = 1_000;
/** Time limit for each hand-over step: followers must be served before the process ends. */
const HAND_OVER_MS = 1_000;

interface Running {
  threadId: string;
  abort: AbortController;
  ended: Promise<void>;
}

/** Owns this process's runs: starts and claims them, keeps their leases, cancels them and hands them over. */
export class Executor {
  readonly owner: string;
  readonly #bus: Bus;
  readonly #context: RunContext;
  readonly #running = new Map<string, Running>();
  readonly #leases: Leases;
  readonly #claims: ReturnType<typeof createClaims>;
  /** The leases that this process has yet to end, by run. */
  readonly #leaving = new Map<string, { fence: number; crashed: boolean }>();
  readonly #stopped = new AbortController();
  readonly #draining = new AbortController();
  readonly #open = new DisposableStack();
  #accepting = true;
  #handedOver = false;
  /** True while waiting runs are woken, and `again` when that was asked for meanwhile. */
  #waking: boolean | "again" = false;
  #polling: Promise<void> = Promise.resolve();

  constructor(owner: string, bus: Bus, context: RunContext) {
    this.owner = owner;
    this.#bus = bus;
    this.#context = context;
    this.#leases = createLeases(this.#running, { owner, runs: context.runs });
    const host = {
      owner,
      running: () => this.#running.size,
      accepting: () => this.#accepting,
      work: (run: RunRecord, since: number) => this.#work(run, since),
      stopped: this.#stopped.signal,
    };
    this.#claims = createClaims(host, context);
    this.#open.use(bus.subscribe("cancel", (runId) => this.#cancelHere(runId)));
    this.#open.use(bus.subscribe(DUE, () => void this.#wake()));
    this.#open.use(bus.subscribe("waiting", (body) => this.#runWaits(body)));
    // A replica that stops has released its leases: claim its runs now instead of at the next poll.
    this.#open.use(
      bus.subscribe("released", () => {
        this.#claims.claimAll().catch(this.#warn("released runs could not be claimed"));
      }),
    );
  }

  /** Aborted once this process stops serving followers; its reason is the error for later queries. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Stores a run, and works on it unless it has to wait. */
  async start(run: NewRun, atHand: AtHand): Promise<StartedRun> {
    const { runId, orgId, threadId } = run;
    const { runs, callerTokens } = this.#context;
    const { token, manifest } = atHand;
    const isNeeded = !manifest || manifest.functions.some((one) => one.needsCallerToken);
    if (token && isNeeded) callerTokens.keep(runId, token);
    let hasSlot = this.#claims.slots.take(orgId);
    const since = monotonicMs();
    try {
      const started = await runs.start({ ...run, mustWait: !hasSlot });
      if (started.kind !== "started") {
        callerTokens.forget(runId);
        return started;
      }
      if (started.run.status === "running") {
        void this.#work(started.run, since, { ...atHand, reservedMicros: started.reservedMicros });
        hasSlot = false;
      } else if (hasSlot) this.#bus.publish("waiting", { threadId, orgId });
      else void this.#claims.fill(orgId);
      return started;
    } catch (error) {
      callerTokens.forget(runId);
      // The commit may have been applied although the store failed. Without the release the run would wait for its lease to end.
      if (error instanceof StoreUnavailable)
        withRetry(() => this.#release([runId]), this.#context).catch(this.#releaseFailed);
      throw error;
    } finally {
      if (hasSlot) this.#claims.freeSlot(orgId);
    }
  }

  /** Ends a run on any replica that the store has marked as cancelled. */
  cancel(runId: string): void {
    this.#bus.publish("cancel", runId);
  }

  /** Starts to recover runs and to keep leases. */
  async open(): Promise<void> {
    this.#leases.begin(monotonicMs());
    this.#polling = this.#poll().catch(() => {});
    // Next to the poll, not in it: when the store hangs, the poll waits for its renewal forever.
    const watch = setInterval(this.#leases.abortUnrenewed, LEASE_WATCH_MS);
    this.#open.defer(() => clearTimer(watch));
  }

  /** Gives runs `graceMs` to end, hands over the rest, and serves followers for up to `followMs` more. */
  async drain(graceMs: number, followMs: number): Promise<void> {
    const { clock } = this.#context;
    this.#accepting = false;
    const ended = Promise.all([...this.#running.values()].map((one) => one.ended));
    const timer = new AbortController();
    await Promise.race([ended, clock.sleep(graceMs, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
    this.#stopped.abort();
    // Each wait has a limit: a store or a model that hangs must not keep followers from their last events.
    await Promise.race([this.#polling, clock.sleep(HAND_OVER_MS)]);
    const left = this.#running.size;
    await Promise.race([this.#handOver(), clock.sleep(2 * HAND_OVER_MS)]);
    if (left > 0) await clock.sleep(followMs);
    this.#draining.abort(new ServiceError("unavailable", "This replica is stopping. Try again in a moment."));
    this.#open.dispose();
  }

  /** Works on a run that has its slot. `since`: when its lease was asked for. */
  #work(run: RunRecord, since: number, atHand: AtHand = {}): Promise<void> {
    const { clock, metrics, within } = this.#context;
    // Accepted or claimed while this process hands over its runs: it would end without working on the run.
    if (this.#handedOver) {
      atHand.segment?.end("moved");
      return this.#release([run.runId]).catch(this.#releaseFailed);
    }
    const abort = new AbortController();
    const leftMs = run.deadlineAt - clock.now();
    const deadline = setTimeout(() => abort.abort(timedOut()), Math.max(0, leftMs));
    if (run.cancelRequested) abort.abort(cancelled());
    // A timer fires a tick later. In that tick a fast model could answer while another run in the thread is in
    // progress.
    else if (leftMs <= 0) abort.abort(timedOut());
    const held = metrics.leaseHeld();
    const worked = within(run.orgId, () => runToEnd(run, atHand, this.#context, abort.signal));
    const ended = worked
      .then((how) => this.#leave(run, how))
      .finally(() => {
        clearTimer(deadline);
        held[Symbol.dispose]();
        // The process may have lost the lease and claimed the run again: the entry of the newer claim must stay.
        if (this.#running.get(run.runId)?.abort === abort) this.#running.delete(run.runId);
        this.#claims.freeSlot(run.orgId);
        void this.#claims.threadFreed(run);
      });
    this.#leases.begin(since);
    this.#running.set(run.runId, { threadId: run.threadId, abort, ended });
    return ended;
  }

  /**
   * Releases a run that did not end here. When its last commit failed, it may still have been applied, so the run is
   * claimed again immediately, but only after its first failure: a run that can never be stored must not be claimed in
   * a loop.
   */
  async #leave(run: RunRecord, how: Outcome): Promise<void> {
    // A decision may have come before the run began to wait.
    if (how === "waits") return void this.#wake();
    this.#context.callerTokens.forget(run.runId);
    if (how === "ended" || this.#handedOver || (how === "left" && run.crashes > 0)) return;
    this.#leaving.set(run.runId, { fence: run.fence, crashed: how === "left" });
    await this.#endLeft().catch(this.#releaseFailed);
    this.#claims.await(run.threadId);
  }

  /** Releases the runs that this process left, also those that it left while the store was unavailable: it lives, so its leases must not end by themselves, as after a crash. */
  async #endLeft(): Promise<void> {
    for (const [runId, lease] of this.#leaving) {
      await this.#context.runs.release(this.owner, [runId], lease);
      if (this.#leaving.get(runId) === lease) this.#leaving.delete(runId);
    }
  }

  async #poll(): Promise<void> {
    const { runs, clock } = this.#context;
    let wasAway = false;
    for (;;) {
      try {
        await this.#leases.renew();
        await this.#endLeft();
        // Other replicas that lost the store too end their leases in this round, which counts no crashes.
        if (!wasAway) await runs.endLeases({ owner: this.owner, working: [...this.#running.keys()] });
        wasAway = false;
        await this.#claims.claimExpired();
        await runs.wake();
        await this.#claims.claimAll();
        void this.#claims.claimSuspects().catch((error: unknown) => {
          if (!this.#stopped.signal.aborted) this.#warn("suspect runs could not be claimed")(error);
        });
      } catch (error) {
        wasAway = true;
        this.#warn("run poll failed")(error);
      }
      await clock.sleep(POLL_MS, { signal: this.#stopped.signal });
    }
  }

  /** Continues waiting runs that are due. Decisions that arrive meanwhile share the next round. */
  async #wake(): Promise<void> {
    if (this.#waking !== false) return void (this.#waking = "again");
    do {
      this.#waking = true;
      const orgs = await this.#context.runs.wake().catch(this.#warn("waiting runs could not be continued"));
      for (const orgId of orgs ?? []) void this.#claims.fill(orgId);
    } while ((this.#waking as boolean | "again") === "again" && this.#accepting);
    this.#waking = false;
  }

  #cancelHere(runId: JsonValue): void {
    const mine = typeof runId === "string" ? this.#running.get(runId) : undefined;
    if (mine) mine.abort.abort(cancelled());
    // It may be queued, or have waited for an approval: no owner could end it.
    else this.#claims.claimExpired().catch(this.#warn("a run without an owner could not be cancelled yet"));
  }

  #runWaits(body: JsonValue): void {
    const { threadId, orgId } = isJsonObject(body) ? body : {};
    if (typeof threadId !== "string" || typeof orgId !== "string") return;
    if (this.#running.values().some((one) => one.threadId === threadId)) this.#claims.await(threadId);
    // The run before it ended while the message was on its way.
    else void this.#claims.claimOne(orgId, threadId);
  }

  /** Aborts what still runs here and releases the leases. Otherwise the next owner would wait for them to expire. */
  async #handOver(): Promise<void> {
    this.#handedOver = true;
    const left = [...this.#running.entries()];
    for (const [, one] of left) one.abort.abort(new HandedOver("this process is stopping"));
    await Promise.race([Promise.all(left.map(([, one]) => one.ended)), this.#context.clock.sleep(HAND_OVER_MS)]);
    await this.#release(left.map(([id]) => id)).catch(this.#releaseFailed);
    if (left.length > 0) this.#bus.publish("released", left.length);
  }

  #release(runIds: string[]): Promise<void> {
    return this.#context.runs.release(this.owner, runIds);
  }

  readonly #warn =
    (message: string) =>
    (cause: unknown): void =>
      this.#context.log.warn(message, { cause });

  readonly #releaseFailed = (cause: unknown): void => this.#warn("leases could not be ended")(cause);
}
