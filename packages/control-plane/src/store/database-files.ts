import { type Kysely, sql } from "kysely";
import type { Log } from "../ports/log.ts";
import { giveBackSpace } from "./dialect/sqlite-space.ts";
import type { Schema } from "./schema.ts";

/** The files of an embedded database; a server looks after its own. */
export interface DatabaseFiles {
  /** Says that text was erased, so that no file keeps it for long. */
  textErased(): void;
  /** Gives disk space back that the next days will not need. */
  giveBack(signal?: AbortSignal): Promise<void>;
}

export const NO_FILES: DatabaseFiles = { textErased() {}, async giveBack() {} };

/** Erasures of this time share one checkpoint. */
const SOON_MS = 1000;

/**
 * The files of an embedded database. SQLite overwrites erased text in the database file, but pages as they were before stay in
 * the `-wal` file until that is truncated: within a second or two, later only while some process still reads an older state.
 */
export function sqliteFiles(db: Kysely<Schema>, log: Log): DatabaseFiles & Disposable {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function emptyLog(): Promise<void> {
    try {
      const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
      if (rows[0]?.busy === 0) return;
    } catch (error) {
      if (!closed) log.warn("write-ahead log could not be emptied; trying again", { cause: error });
    }
    textErased();
  }

  function textErased(): void {
    if (closed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void emptyLog();
    }, SOON_MS).unref();
  }

  return {
    textErased,
    giveBack: (signal) => giveBackSpace(db, signal),
    /** Closing the database empties the log as well. */
    [Symbol.dispose]() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
