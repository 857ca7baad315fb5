/** Calls in one message, whose ids stay far below the limit of the bus. */
export const BATCH = 1_000;
/** Acknowledgements of this time share a message. */
const GATHER_MS = 10;

/** Reports to the host of a runtime which results are stored. A lost message loses nothing: the host then finds them in the store. */
export class Acknowledgements {
  readonly #send: (callIds: string[]) => Promise<unknown>;
  #callIds: string[] = [];

  constructor(send: (callIds: string[]) => Promise<unknown>) {
    this.#send = send;
  }

  add(callId: string): void {
    this.#callIds.push(callId);
    if (this.#callIds.length === 1) setTimeout(this.#flush, GATHER_MS);
    else if (this.#callIds.length === BATCH) this.#flush();
  }

  readonly #flush = (): void => {
    const callIds = this.#callIds;
    this.#callIds = [];
    if (callIds.length > 0) this.#send(callIds).catch(() => {});
  };
}
