/** Until then after an outage, every replica has renewed its connections: three heartbeats. */
const RENEWED_MS = 15_000;

/** Whether the database takes writes, and how long it took none. Times are milliseconds of a clock that only runs forward. */
export class StoreHealth {
  readonly #now: () => number;
  #failedAt: number | undefined;
  #last = { endedAt: Number.NEGATIVE_INFINITY, ms: 0 };

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** False from a failed write until the next successful one. */
  get writable(): boolean {
    return this.#failedAt === undefined;
  }

  failed(): void {
    this.#failedAt ??= this.#now();
  }

  succeeded(): void {
    if (this.#failedAt === undefined) return;
    const endedAt = this.#now();
    this.#last = { endedAt, ms: endedAt - this.#failedAt };
    this.#failedAt = undefined;
  }

  /**
   * The length of an outage that lasts or has just ended, else 0. Rows that no replica could renew in that time are not older for it:
   * every runtime would seem to have left when the database returns.
   */
  get outageMs(): number {
    const now = this.#now();
    if (this.#failedAt !== undefined) return Math.round(now - this.#failedAt);
    return now - this.#last.endedAt < RENEWED_MS ? Math.round(this.#last.ms) : 0;
  }
}
