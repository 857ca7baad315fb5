import type { CallOutcome, JsonValue } from "@patchbay/protocol";
import { RunMoved, type CallOrder, type Delivery } from "../ports/function-gateway.ts";
import type { Link, Waiting } from "./link.ts";

export interface PendingCallTimes {
  /** How long a lost link, and the answer to a question about a call, are waited for. */
  reconnectMs: number;
  /** How long a handler that was told to stop may still answer. */
  stopGraceMs: number;
}

/**
 * One call that somebody waits for. `queued`: not sent. `running`: sent, its time runs. `stopping`: its time is over and its
 * handler was told. `lost`: its link is gone. `asking`: the runtime is back and was asked what became of it.
 */
type Phase = "queued" | "running" | "stopping" | "lost" | "asking";

export class PendingCall implements Waiting {
  readonly order: CallOrder;
  readonly text: string;
  readonly onProgress: ((data: JsonValue) => void) | undefined;
  readonly #times: PendingCallTimes;
  readonly #ended: () => void;
  readonly #resolve: (delivery: Delivery) => void;
  readonly #reject: (reason: unknown) => void;
  #phase: Phase = "queued";
  #link: Link | undefined;
  #timer: NodeJS.Timeout | undefined;
  #expiresAt = 0;

  constructor(input: {
    order: CallOrder;
    text: string;
    onProgress: ((data: JsonValue) => void) | undefined;
    times: PendingCallTimes;
    /** Called once, before the wait resolves or rejects. */
    ended: () => void;
    resolve: (delivery: Delivery) => void;
    reject: (reason: unknown) => void;
  }) {
    this.order = input.order;
    this.text = input.text;
    this.onProgress = input.onProgress;
    this.#times = input.times;
    this.#ended = input.ended;
    this.#resolve = input.resolve;
    this.#reject = input.reject;
  }

  start(link: Link): void {
    this.#link = link;
    link.enqueue(this);
  }

  /** Takes over a call that another process sent. */
  resume(link: Link | undefined): void {
    this.#expiresAt = performance.now() + this.order.timeoutMs;
    if (link) this.ask(link);
    else this.lose();
  }

  sent(): void {
    this.#phase = "running";
    this.#expiresAt = performance.now() + this.order.timeoutMs;
    this.#arm(this.order.timeoutMs, this.#expire);
  }

  isOn(link: Link): boolean {
    return this.#link === link;
  }

  /** Takes the call back if it was not sent. */
  withdraw(): void {
    if (this.#phase === "queued") this.settle({ kind: "undelivered" });
  }

  lose(): void {
    this.#phase = "lost";
    this.#link = undefined;
    this.#arm(this.#times.reconnectMs, this.#giveUp);
  }

  ask(link: Link): void {
    this.#phase = "asking";
    this.#link = link;
    link.adopt(this);
    this.#arm(this.#times.reconnectMs, this.#giveUp);
    link.send({ type: "callQuery", callId: this.order.callId, attempt: this.order.attempt });
  }

  /** Only the link the call is on may speak of it: an older one may carry an answer that no longer holds. */
  hear(link: Link, state: "running" | "done" | "unseen"): void {
    if (link !== this.#link) return;
    if (state === "unseen") this.settle({ kind: "undelivered" });
    else if (state === "running" && this.#phase === "asking") {
      this.#phase = "running";
      this.#arm(Math.max(0, this.#expiresAt - performance.now()), this.#expire);
    }
  }

  /** Nobody waits any more: the handler is told to stop, unless its run goes on elsewhere. */
  abandon(reason: unknown): void {
    if (this.#phase !== "queued" && !(reason instanceof RunMoved)) this.#cancel("cancelled");
    this.fail(reason);
  }

  settle(delivery: Delivery): void {
    this.#end();
    this.#resolve(delivery);
  }

  fail(reason: unknown): void {
    this.#end();
    this.#reject(reason);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#link?.release(this);
    this.#ended();
  }

  readonly #expire = (): void => {
    this.#phase = "stopping";
    this.#cancel("timed_out");
    this.#arm(this.#times.stopGraceMs, this.#timeOut);
  };

  readonly #timeOut = (): void => this.settle({ kind: "outcome", outcome: timedOut(this.order.timeoutMs) });

  readonly #giveUp = (): void => this.settle({ kind: "unknown" });

  #cancel(reason: "timed_out" | "cancelled"): void {
    this.#link?.send({ type: "cancel", callId: this.order.callId, reason });
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
