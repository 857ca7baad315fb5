import { monotonicMs } from "@patchbay/kit/time";
import { type Log, silentLog } from "@patchbay/kit";
import type { GroupKind } from "@patchbay/database/groups";
import { isConflict } from "@patchbay/database/postgres-errors";

/** When replicas served the database, by its clock. */
export interface Served {
  /** When a replica last recorded it, as far as this process knows. */
  lastAt: number;
  /** When the last gap ended, or the first start. */
  since: number;
  /** When that gap started; null before the first one. */
  gapFrom: number | null;
}

/** The time after an outage until every replica has renewed its connections: three heartbeats. */
const RENEWED_MS = 15_000;

/** Whether the database accepts writes, and how long it did not. Times are milliseconds on a monotonic clock. */
export class StoreHealth {
  /** Undefined in a process that serves nothing, such as a command. */
  served: Served | undefined;
  readonly #now: () => number;
  #failedAt: number | undefined;
  #last = { endedAt: Number.NEGATIVE_INFINITY, ms: 0 };

  /** Groups whose statement failed, so that each item was stored separately. */
  readonly failedGroups: Record<GroupKind, number> = { steps: 0, starts: 0, accepts: 0 };
  readonly #log: Pick<Log, "warn">;

  constructor({ now = monotonicMs, log = silentLog }: { now?: () => number; log?: Pick<Log, "warn"> } = {}) {
    this.#now = now;
    this.#log = log;
  }

  /**
   * Counts a group, and logs the first one of its kind: the statement is wrong, or one of its rows. A conflict with
   * another transaction is neither.
   */
  groupFailed(kind: GroupKind, error: unknown): void {
    if (isConflict(error)) return;
    if (this.failedGroups[kind]++ === 0)
      this.#log.warn("a group of rows could not be stored in one statement; each is stored by itself", { kind, error });
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
   * The length of a current or just ended outage, otherwise 0. Rows that no replica could renew in that time do not age
   * by it: every runtime would seem to have left when the database returns.
   */
  get outageMs(): number {
    const now = this.#now();
    if (this.#failedAt !== undefined) return Math.round(now - this.#failedAt);
    return now - this.#last.endedAt < RENEWED_MS ? Math.round(this.#last.ms) : 0;
  }
}
