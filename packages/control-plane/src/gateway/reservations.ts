/** Calls whose intent could not be stored are never sent. */
const LONGEST_MS = 5_000;

/** Places on a line for calls that were assigned to it and whose intent is just being stored: a burst is shared out as it comes. */
export class Reservations {
  readonly #until: number[] = [];

  get count(): number {
    const now = performance.now();
    while (this.#until[0] !== undefined && this.#until[0] <= now) this.#until.shift();
    return this.#until.length;
  }

  add(): void {
    this.#until.push(performance.now() + LONGEST_MS);
  }

  /** One of the calls is on the line now, and counts there. */
  take(): void {
    this.#until.shift();
  }
}
