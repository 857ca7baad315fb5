import { sql } from "kysely";
import type { Log } from "../ports/log.ts";
import type { Engine } from "./schema.ts";

/** Erasures of this time share one checkpoint. */
const SOON_MS = 1000;

export interface LogEmptier {
  /** Empties the write-ahead log within a second or two, later only while some process still reads an older state. */
  soon(): void;
  /** Ends what is waiting: closing the database empties the log as well. */
  close(): void;
}

/**
 * Removes erased text from the `-wal` file of an embedded database. SQLite overwrites deleted text in the database file, but
 * pages as they were before stay in the log until it is truncated.
 */
export function createLogEmptier({ db }: Pick<Engine, "db">, log: Log): LogEmptier {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function empty(): Promise<void> {
    try {
      const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
      if (rows[0]?.busy === 0) return;
    } catch (error) {
      log.warn("erased text could not be removed from the write-ahead log; trying again", { cause: error });
    }
    soon();
  }

  function soon(): void {
    if (closed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void empty();
    }, SOON_MS).unref();
  }

  return {
    soon,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
