import type { QueuedCall } from "../channel.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import type { TakenReply } from "./messages.ts";

/**
 * A call from another replica's run on this replica's connection. `claiming`: the store is asked whether this replica
 * may take it. `queued`: it waits for a free slot. `sent`: it is at the runtime, or the runtime was asked about it.
 * `dropped`: it will not be sent.
 */
export class HostedCall implements QueuedCall {
  readonly id: { callId: string; attempt: number };
  phase: "claiming" | "queued" | "sent" | "dropped" = "claiming";
  text = "";
  /** The replica that waits for the call. */
  replyTo: string;
  /** The answer to the request for this attempt; undefined for a call that was only asked about. */
  taken: Promise<TakenReply> | undefined;
  /** When the waiting replica last asked about the call. */
  askedAt = performance.now();
  endsAt: number;
  /** When its frame was sent, by the database's clock. */
  sentAt: number | undefined;
  readonly #now: () => number;
  readonly #endsInMs: number;
  readonly #sentLate: () => void;
  #entering = false;

  constructor(input: {
    callId: string;
    attempt: number;
    /** Time after sending at which the runtime no longer works on it. */
    endsInMs: number;
    replyTo: string;
    /** The database's clock. */
    now: () => number;
    /** Called when the call is sent after it was queued: the answer to the request could not say so. */
    sentLate: () => void;
  }) {
    this.id = { callId: input.callId, attempt: input.attempt };
    this.replyTo = input.replyTo;
    this.#now = input.now;
    this.#endsInMs = input.endsInMs;
    this.endsAt = performance.now() + input.endsInMs;
    this.#sentLate = input.sentLate;
  }

  get callId(): string {
    return this.id.callId;
  }

  get attempt(): number {
    return this.id.attempt;
  }

  get isSent(): boolean {
    return this.phase === "sent";
  }

  /**
   * Gives the call to its connection, which sends or queues it. False when it was dropped meanwhile, or the queue is
   * full.
   */
  enter(connection: RuntimeConnection, text: string): boolean {
    if (this.phase !== "claiming") return false;
    this.text = text;
    this.phase = "queued";
    this.#entering = true;
    const taken = connection.enqueue(this);
    this.#entering = false;
    return taken;
  }

  sent(): void {
    this.phase = "sent";
    this.sentAt = this.#now();
    this.endsAt = performance.now() + this.#endsInMs;
    if (!this.#entering) this.#sentLate();
  }

  /** The waiting replica asked about the call; after a failover it is another one. */
  asked(replyTo: string): void {
    this.replyTo = replyTo;
    this.askedAt = performance.now();
  }
}
