import { monotonicMs } from "@patchbay/kit/time";
import type { QueuedCall } from "../channel.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import type { TakenReply } from "./messages.ts";

interface HostedCallInput {
  callId: string;
  attempt: number;
  detached: boolean;
  /** Time after sending at which the runtime no longer works on it. */
  endsInMs: number;
  replyTo: string;
  /** The database's clock. */
  now: () => number;
  /** Called when the call is sent after it was queued: the answer to the request could not say so. */
  sentLate: () => void;
}

/**
 * A call from another replica's run on this replica's connection. `claiming`: the store is asked whether this replica
 * may take it. `queued`: it waits for a free slot. `sent`: it is at the runtime, or the runtime was asked about it.
 * `dropped`: it will not be sent.
 */
export class HostedCall implements QueuedCall {
  phase: "claiming" | "queued" | "sent" | "dropped" = "claiming";
  text = "";
  readonly callId: string;
  readonly attempt: number;
  /** True if the call is here only until its handler runs. */
  readonly detached: boolean;
  /** The replica that waits for the call. */
  replyTo: string;
  /** The answer to the request for this attempt; undefined for a call that was only asked about. */
  taken: Promise<TakenReply> | undefined;
  /** When the waiting replica last asked about the call. */
  askedAt = monotonicMs();
  endsAt: number;
  /** When its frame was sent, by the database's clock. */
  sentAt: number | undefined;
  readonly #input: HostedCallInput;
  #entering = false;

  constructor(input: HostedCallInput) {
    this.callId = input.callId;
    this.attempt = input.attempt;
    this.detached = input.detached;
    this.replyTo = input.replyTo;
    this.endsAt = monotonicMs() + input.endsInMs;
    this.#input = input;
  }

  get id(): Pick<HostedCallInput, "callId" | "attempt"> {
    return { callId: this.callId, attempt: this.attempt };
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
    this.sentAt = this.#input.now();
    this.endsAt = monotonicMs() + this.#input.endsInMs;
    if (!this.#entering) this.#input.sentLate();
  }

  /** The waiting replica asked about the call; after a failover it is another one. */
  asked(replyTo: string): void {
    this.replyTo = replyTo;
    this.askedAt = monotonicMs();
  }
}
