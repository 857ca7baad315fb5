import type { StoredAttempt } from "../channel.ts";

/** Calls in one message, whose ids stay far below the bus limit. */
export const BATCH = 1_000;
/** Acknowledgements within this time share a message. */
const GATHER_MS = 10;

/** Reports to a runtime's host which results are stored. If a message is lost, the host finds them in the store. */
export class Acknowledgements {
  readonly #send: (calls: StoredAttempt[]) => Promise<unknown>;
  #calls: StoredAttempt[] = [];

  constructor(send: (calls: StoredAttempt[]) => Promise<unknown>) {
    this.#send = send;
  }

  add({ callId, attempt }: StoredAttempt): void {
    this.#calls.push({ callId, attempt });
    if (this.#calls.length === 1) setTimeout(this.#flush, GATHER_MS);
    else if (this.#calls.length === BATCH) this.#flush();
  }

  readonly #flush = (): void => {
    const calls = this.#calls;
    this.#calls = [];
    if (calls.length > 0) this.#send(calls).catch(() => {});
  };
}
