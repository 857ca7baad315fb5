import { clearTimer, monotonicMs, setTimeout } from "@patchbay/kit/time";
import { type CallOutcome, isProvisional } from "@patchbay/protocol";
import { type JsonValue } from "@patchbay/kit";
import { RunMoved, type CallOrder, type Delivery, type DeliveryOptions } from "@patchbay/engine/ports/function-gateway";
import { callFailure } from "@patchbay/engine/ports/refusal";
import type { ArrivedOutcome } from "@patchbay/engine/ports/store/call-store";
import type { CancelReason, ChannelCall, Detachment, RuntimeChannel } from "../channel.ts";

export interface PendingCallTimes {
  /** How long to wait for a closed connection, and for the answer to a query. */
  reconnectMs: number;
  /** How long a handler that was asked to stop may still answer. */
  stopGraceMs: number;
  /** How much longer to wait for a runtime that first has to notice that its replica is gone or silent. */
  noticeMs: Record<Detachment, number>;
}

/** What a pending call needs from its tracker. */
export interface PendingCallOwner {
  readonly times: PendingCallTimes;
  /** The database's clock. */
  now(): number;
  /**
   * The stored outcome for a call whose result went to another replica. Never rejects; resolves within `reconnectMs`.
   */
  outcomeWithin(callId: string, ms: number): Promise<ArrivedOutcome | undefined>;
  /** Called each time the call has lost its channel. */
  detached(call: PendingCall): void;
  /** Called once, before the delivery settles. */
  ended(call: PendingCall): void;
}

/**
 * `queued`: not sent. `running`: sent, its time is counted. `stopping`: its time has passed and its handler was asked
 * to stop. `detached`: it has no channel. `querying`: the runtime is connected again and was asked about the call.
 * `concluding`: it ends without an answer unless the store has one.
 */
type Phase = "queued" | "running" | "stopping" | "detached" | "querying" | "concluding" | "ended";

/**
 * One call that a run on this replica waits for, from its delivery to its outcome, over all connections that carry it.
 */
export class PendingCall implements ChannelCall {
  readonly order: CallOrder;
  readonly text: string;
  /** Settles with how the call ended; rejects when the run no longer waits. */
  readonly delivery: Promise<Delivery>;
  readonly #options: DeliveryOptions;
  readonly #owner: PendingCallOwner;
  readonly #resolve: (delivery: Delivery) => void;
  readonly #reject: (reason: unknown) => void;
  #phase: Phase = "queued";
  #channel: RuntimeChannel | undefined;
  #timer: NodeJS.Timeout | undefined;
  #expiresAt: number;
  #reportedSent = false;
  /**
   * While the call's state is unknown: when to give up, how far that may be postponed, and which connections were
   * asked.
   */
  #doubt: { endsAt: number; latest: number; asked: Set<string> } | undefined;

  /** `text`: the call's frame; empty for a call that is only queried. */
  constructor(order: CallOrder, text: string, options: DeliveryOptions, owner: PendingCallOwner) {
    this.order = order;
    this.text = text;
    this.#options = options;
    this.#owner = owner;
    this.#expiresAt = monotonicMs() + order.timeoutMs;
    const { promise, resolve, reject } = Promise.withResolvers<Delivery>();
    this.delivery = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    options.signal.addEventListener("abort", this.#abandon);
  }

  get callId(): string {
    return this.order.callId;
  }

  get ageMs(): number | undefined {
    const { afterMs } = this.order;
    return afterMs === undefined ? undefined : Math.max(0, this.#owner.now() - afterMs);
  }

  get awaitsState(): boolean {
    return this.#phase === "querying";
  }

  get ended(): boolean {
    return this.#phase === "ended";
  }

  /** True while the call is on another replica's connection. */
  get isElsewhere(): boolean {
    return this.#channel?.local === false;
  }

  isOn(connectionId: string | undefined): boolean {
    return this.#channel !== undefined && this.#channel.identity.connectionId === connectionId;
  }

  start(channel: RuntimeChannel): void {
    this.#channel = channel;
    if (!channel.enqueue(this)) this.notSent();
  }

  sent(): void {
    this.sentByHost(this.#owner.now());
  }

  sentByHost(at: number | undefined): void {
    if (at !== undefined && !this.#reportedSent && this.#phase !== "ended") {
      this.#reportedSent = true;
      this.#options.onSent?.(at);
    }
    if (this.#phase !== "queued") return;
    this.#phase = "running";
    this.#expiresAt = monotonicMs() + this.order.timeoutMs;
    this.#arm(this.order.timeoutMs, this.#expire);
  }

  notSent(): void {
    this.settle({ kind: "undelivered" });
  }

  /** Takes the call back if it is queued on this replica's connection. */
  takeBack(): void {
    if (this.#phase === "queued" && this.#channel?.local) this.notSent();
  }

  progress(data: JsonValue): void {
    this.#options.onProgress?.(data);
  }

  detach(why: Detachment = "closed"): void {
    if (this.#phase === "concluding" || this.#phase === "ended") return;
    this.#phase = "detached";
    this.#leaveChannel();
    this.#prolongDoubt(this.#owner.times.noticeMs[why], { again: why === "silent" });
    this.#owner.detached(this);
  }

  /** Asks the runtime for the call's state over a new channel. */
  query(channel: RuntimeChannel): void {
    if (this.#phase === "concluding" || this.#phase === "ended") return;
    this.#phase = "querying";
    this.#channel = channel;
    const { connectionId } = channel.identity;
    this.#prolongDoubt(0, { again: !this.#doubt?.asked.has(connectionId) });
    this.#doubt?.asked.add(connectionId);
    channel.queryState(this);
  }

  /**
   * The runtime reported the call's state. A report that names this attempt counts over any connection. Older runtimes
   * do not name the attempt; their report counts only over the call's connection. Otherwise a late "unseen" about an
   * earlier attempt would give a running call to another runtime, which would execute it twice.
   */
  stateReported(attempt: number | undefined, state: "running" | "done" | "unseen", connectionId?: string): void {
    if (attempt === undefined ? !this.isOn(connectionId) : attempt !== this.order.attempt) return;
    if (state === "unseen") this.#conclude({ kind: "undelivered" });
    else if (state === "running" && this.order.detached && this.order.timeoutMs > 0) this.settle({ kind: "running" });
    else if (state === "running" && this.#phase === "querying") {
      this.#phase = "running";
      this.#doubt = undefined;
      this.#arm(Math.max(0, this.#expiresAt - monotonicMs()), this.#expire);
    }
  }

  /** The runtime answered. `outcome_unknown` says only that it answered before: the store may have the full outcome. */
  answered(outcome: CallOutcome, attempt: number): void {
    if (!isOf({ outcome, attempt }, this.order)) return;
    if (!outcome.ok && outcome.code === "outcome_unknown") this.#conclude({ kind: "outcome", outcome });
    else this.settle({ kind: "outcome", outcome });
  }

  /** The outcome is in the store. */
  stored(stored: StoredOutcome): void {
    if (isOf(stored, this.order)) this.settle({ kind: "outcome", outcome: stored.outcome });
  }

  settle(delivery: Delivery): void {
    if (this.#phase === "ended") return;
    this.#end();
    this.#resolve(delivery);
  }

  fail(reason: unknown): void {
    if (this.#phase === "ended") return;
    this.#end();
    this.#reject(reason);
  }

  /**
   * The run no longer waits. The handler is asked to stop, unless the run continues on another replica, which will ask
   * for the outcome.
   */
  readonly #abandon = (): void => {
    const { reason } = this.#options.signal as { reason: unknown };
    if (!(reason instanceof RunMoved)) this.#cancel("cancelled");
    this.fail(reason);
  };

  #end(): void {
    this.#phase = "ended";
    clearTimer(this.#timer);
    this.#options.signal.removeEventListener("abort", this.#abandon);
    this.#leaveChannel();
    this.#owner.ended(this);
  }

  #leaveChannel(): void {
    this.#channel?.release(this);
    this.#channel = undefined;
  }

  /**
   * Ends the call with the stored outcome, else with `delivery`. The runtime may have answered to another replica and
   * forgotten its answer after the acknowledgement: without the read, a call that succeeded would end as unknown, or
   * run twice.
   */
  #conclude(delivery: Delivery): void {
    if (this.#phase === "concluding" || this.#phase === "ended") return;
    this.#phase = "concluding";
    clearTimer(this.#timer);
    this.#leaveChannel();
    void this.#owner.outcomeWithin(this.callId, this.#owner.times.reconnectMs).then((stored) => {
      if (stored) this.stored(stored);
      this.settle(delivery);
    });
  }

  readonly #expire = (): void => {
    this.#phase = "stopping";
    this.#cancel("timed_out");
    this.#arm(this.#owner.times.stopGraceMs, this.#timeOut);
  };

  readonly #timeOut = (): void =>
    this.#conclude({ kind: "outcome", outcome: timedOut(this.order.timeoutMs), unanswered: true });

  readonly #giveUp = (): void => this.#conclude({ kind: "unknown" });

  #cancel(reason: CancelReason): void {
    this.#channel?.cancel(this, reason);
  }

  /**
   * Gives each new connection its time to answer, within the call's own time. A connection that was asked before gets
   * no further time, so that a runtime that reconnects repeatedly cannot postpone the end. `moreMs`: the time in which a
   * runtime notices that it has to connect to another replica.
   */
  #prolongDoubt(moreMs: number, { again }: { again: boolean }): void {
    const { reconnectMs, stopGraceMs, noticeMs } = this.#owner.times;
    const now = monotonicMs();
    const wanted = now + reconnectMs + moreMs;
    if (!this.#doubt) {
      const latest = Math.max(now + noticeMs.gone, this.#expiresAt + stopGraceMs) + reconnectMs;
      this.#doubt = { endsAt: Math.min(wanted, latest), latest, asked: new Set() };
    } else if (again) this.#doubt.endsAt = Math.max(this.#doubt.endsAt, Math.min(wanted, this.#doubt.latest));
    this.#arm(this.#doubt.endsAt - now, this.#giveUp);
  }

  #arm(ms: number, then: () => void): void {
    clearTimer(this.#timer);
    this.#timer = setTimeout(then, ms);
  }
}

type StoredOutcome = Pick<ArrivedOutcome, "outcome" | "attempt">;

/**
 * False for another attempt's provisional outcome. Any other outcome ends the call, whichever attempt it comes from.
 */
export const isOf = ({ outcome, attempt }: StoredOutcome, order: Pick<CallOrder, "attempt">): boolean =>
  !isProvisional(outcome) || attempt === order.attempt;

const timedOut = (timeoutMs: number): CallOutcome =>
  callFailure("timed_out", `The function did not answer within ${timeoutMs} ms and may still have run.`);
