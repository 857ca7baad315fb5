import type { Link } from "./link.ts";
import type { Waiting } from "./line.ts";
import type { TakenReply } from "./messages.ts";

/**
 * A call of another replica's run on a link of this one. `taking`: its row is being asked. `waiting`: for a free place.
 * `sent`: at the runtime, or asked for there. `dropped`: will not be sent.
 */
export class HeldCall implements Waiting {
  readonly name: { callId: string; attempt: number };
  phase: "taking" | "waiting" | "sent" | "dropped" = "taking";
  text = "";
  /** The replica that waits for the call. */
  replyTo: string;
  /** What became of the request for this attempt; undefined for one that was only asked about. */
  taken: Promise<TakenReply> | undefined;
  /** When its owner last showed that it waits. */
  askedAt = performance.now();
  endsAt: number;
  /** When its frame left, by the database's clock. */
  sentAt: number | undefined;
  readonly #now: () => number;
  readonly #endsInMs: number;
  readonly #waited: () => void;
  #entering = false;

  constructor(input: {
    callId: string;
    attempt: number;
    /** From when it is sent until its runtime has surely let go of it. */
    endsInMs: number;
    replyTo: string;
    /** The database's clock. */
    now: () => number;
    /** Called when the call is sent after it had to wait. */
    waited: () => void;
  }) {
    this.name = { callId: input.callId, attempt: input.attempt };
    this.replyTo = input.replyTo;
    this.#now = input.now;
    this.#endsInMs = input.endsInMs;
    this.endsAt = performance.now() + input.endsInMs;
    this.#waited = input.waited;
  }

  get callId(): string {
    return this.name.callId;
  }

  get attempt(): number {
    return this.name.attempt;
  }

  get isSent(): boolean {
    return this.phase === "sent";
  }

  /** Gives the call to its link: `sent` from now on, or `waiting`. False when it was dropped, or too many wait there. */
  enter(link: Link, text: string): boolean {
    if (this.phase !== "taking") return false;
    this.text = text;
    this.phase = "waiting";
    this.#entering = true;
    const taken = link.enqueue(this);
    this.#entering = false;
    return taken;
  }

  sent(): void {
    this.phase = "sent";
    this.sentAt = this.#now();
    this.endsAt = performance.now() + this.#endsInMs;
    if (!this.#entering) this.#waited();
  }

  asked(replyTo: string): void {
    this.replyTo = replyTo;
    this.askedAt = performance.now();
  }
}
