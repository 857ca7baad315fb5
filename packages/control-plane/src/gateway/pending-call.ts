import type { CallOutcome, JsonValue } from "@patchbay/protocol";
import { RunMoved, type CallOrder, type Delivery } from "../ports/function-gateway.ts";
import type { CancelReason, Line, LineCall } from "./line.ts";

export interface PendingCallTimes {
  /** How long a lost link, and the answer to a question about a call, are waited for. */
  reconnectMs: number;
  /** How long a handler that was told to stop may still answer. */
  stopGraceMs: number;
  /** A runtime notices within this time that its replica fell silent, and connects to another one. */
  silenceMs: number;
}

/**
 * One call that somebody waits for. `queued`: not sent. `running`: sent, its time runs. `stopping`: its time is over and its
 * handler was told. `lost`: its line is gone. `asking`: the runtime is back and was asked what became of it. `concluding`: it
 * is about to end without an answer, if none stands in the store.
 */
type Phase = "queued" | "running" | "stopping" | "lost" | "asking" | "concluding" | "ended";

export class PendingCall implements LineCall {
  readonly order: CallOrder;
  readonly text: string;
  readonly onProgress: ((data: JsonValue) => void) | undefined;
  readonly #onSent: ((at: number) => void) | undefined;
  readonly #now: () => number;
  readonly #times: PendingCallTimes;
  readonly #arrived: (order: CallOrder) => Promise<CallOutcome | undefined>;
  readonly #onLost: () => void;
  readonly #onEnd: () => void;
  readonly #resolve: (delivery: Delivery) => void;
  readonly #reject: (reason: unknown) => void;
  #phase: Phase = "queued";
  #line: Line | undefined;
  #timer: NodeJS.Timeout | undefined;
  #expiresAt: number;
  #sendingTold = false;
  /** While nobody can say what became of the call: when it is given up, the last moment this may be put off to, and which links were asked. */
  #doubt: { endsAt: number; latest: number; asked: Set<string> } | undefined;

  constructor(input: {
    order: CallOrder;
    text: string;
    onProgress: ((data: JsonValue) => void) | undefined;
    onSent: ((at: number) => void) | undefined;
    /** The database's clock. */
    now: () => number;
    times: PendingCallTimes;
    /** What the store has of the call that a runtime answered to another replica. Never rejects, never hangs. */
    arrived: (order: CallOrder) => Promise<CallOutcome | undefined>;
    /** Called each time the call has no line any more. */
    onLost: () => void;
    /** Called once, before the wait resolves or rejects. */
    onEnd: () => void;
    resolve: (delivery: Delivery) => void;
    reject: (reason: unknown) => void;
  }) {
    this.order = input.order;
    this.text = input.text;
    this.onProgress = input.onProgress;
    this.#onSent = input.onSent;
    this.#now = input.now;
    this.#times = input.times;
    this.#arrived = input.arrived;
    this.#onLost = input.onLost;
    this.#onEnd = input.onEnd;
    this.#resolve = input.resolve;
    this.#reject = input.reject;
    this.#expiresAt = performance.now() + input.order.timeoutMs;
  }

  get callId(): string {
    return this.order.callId;
  }

  start(line: Line): void {
    this.#line = line;
    if (!line.enqueue(this)) this.settle({ kind: "undelivered" });
  }

  sent(): void {
    this.sentElsewhere(this.#now());
  }

  sentElsewhere(at: number | undefined): void {
    if (at !== undefined && !this.#sendingTold && this.#phase !== "ended") {
      this.#sendingTold = true;
      this.#onSent?.(at);
    }
    if (this.#phase !== "queued") return;
    this.#phase = "running";
    this.#expiresAt = performance.now() + this.order.timeoutMs;
    this.#arm(this.order.timeoutMs, this.#expire);
  }

  isOn(connectionId: string | undefined): boolean {
    return this.#line !== undefined && this.#line.identity.connectionId === connectionId;
  }

  get asking(): boolean {
    return this.#phase === "asking";
  }

  get ended(): boolean {
    return this.#phase === "ended";
  }

  /** True while the call is with another replica. */
  get isElsewhere(): boolean {
    return this.#line?.local === false;
  }

  /** Takes the call back if this process has not sent it. */
  withdraw(): void {
    if (this.#phase === "queued" && this.#line?.local) this.turnedAway();
  }

  turnedAway(): void {
    this.settle({ kind: "undelivered" });
  }

  lose({ silent } = { silent: false }): void {
    if (this.#phase === "concluding" || this.#phase === "ended") return;
    this.#phase = "lost";
    this.#leave();
    this.#prolongDoubt(silent ? this.#times.silenceMs : 0, { again: silent });
    this.#onLost();
  }

  ask(line: Line): void {
    if (this.#phase === "concluding" || this.#phase === "ended") return;
    this.#phase = "asking";
    this.#line = line;
    const { connectionId } = line.identity;
    this.#prolongDoubt(0, { again: !this.#doubt?.asked.has(connectionId) });
    this.#doubt?.asked.add(connectionId);
    line.ask(this);
  }

  /**
   * What is said of this attempt holds over whatever link it comes. A runtime that does not say which attempt it means is
   * believed over the link the call is on alone: an older answer may hold no longer.
   */
  hear(attempt: number | undefined, state: "running" | "done" | "unseen", connectionId?: string): void {
    if (attempt === undefined ? !this.isOn(connectionId) : attempt !== this.order.attempt) return;
    if (state === "unseen") this.#conclude({ kind: "undelivered" });
    else if (state === "running" && this.#phase === "asking") {
      this.#phase = "running";
      this.#doubt = undefined;
      this.#arm(Math.max(0, this.#expiresAt - performance.now()), this.#expire);
    }
  }

  /** The runtime's answer. One that says no more than that it answered before may stand in the store in full. */
  answer(outcome: CallOutcome): void {
    if (!outcome.ok && outcome.code === "outcome_unknown") this.#conclude({ kind: "outcome", outcome });
    else this.settle({ kind: "outcome", outcome });
  }

  /** Nobody waits any more: the handler is told to stop, unless its run goes on elsewhere. */
  abandon(reason: unknown): void {
    if (!(reason instanceof RunMoved)) this.#cancel("cancelled");
    this.fail(reason);
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

  #end(): void {
    this.#phase = "ended";
    clearTimeout(this.#timer);
    this.#leave();
    this.#onEnd();
  }

  #leave(): void {
    this.#line?.release(this);
    this.#line = undefined;
  }

  /** The runtime may have answered to another replica, and been told that it may forget its answer. */
  #conclude(delivery: Delivery): void {
    if (this.#phase === "concluding" || this.#phase === "ended") return;
    this.#phase = "concluding";
    clearTimeout(this.#timer);
    this.#leave();
    void this.#arrived(this.order).then((outcome) => this.settle(outcome ? { kind: "outcome", outcome } : delivery));
  }

  readonly #expire = (): void => {
    this.#phase = "stopping";
    this.#cancel("timed_out");
    this.#arm(this.#times.stopGraceMs, this.#timeOut);
  };

  readonly #timeOut = (): void => this.#conclude({ kind: "outcome", outcome: timedOut(this.order.timeoutMs) });

  readonly #giveUp = (): void => this.#conclude({ kind: "unknown" });

  #cancel(reason: CancelReason): void {
    this.#line?.cancel(this, reason);
  }

  /**
   * Each new link is given its time to answer, as far as the call's own time reaches; one that was asked before is not. A
   * replica that fell silent is not known to have lost the runtime, which needs time of its own to notice.
   */
  #prolongDoubt(moreMs: number, { again }: { again: boolean }): void {
    const { reconnectMs, stopGraceMs } = this.#times;
    const now = performance.now();
    const wanted = now + reconnectMs + moreMs;
    if (!this.#doubt) {
      const latest = Math.max(now, this.#expiresAt + stopGraceMs) + reconnectMs;
      this.#doubt = { endsAt: Math.min(wanted, latest), latest, asked: new Set() };
    } else if (again) this.#doubt.endsAt = Math.max(this.#doubt.endsAt, Math.min(wanted, this.#doubt.latest));
    this.#arm(this.#doubt.endsAt - now, this.#giveUp);
  }

  #arm(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, ms);
  }
}

function timedOut(timeoutMs: number): CallOutcome {
  return {
    ok: false,
    code: "timed_out",
    message: `The function did not answer within ${timeoutMs} ms and may still have run.`,
  };
}
