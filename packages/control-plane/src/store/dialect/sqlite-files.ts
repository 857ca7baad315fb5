import type { DatabaseFiles } from "../engine.ts";
import { type Kysely, sql } from "kysely";
import type { Log } from "../../ports/log.ts";
import type { Schema } from "../schema.ts";
import { DatabaseSync } from "node:sqlite";
import { isBusy, translateSqliteError } from "./sqlite-database.ts";
import { GroupUndone } from "./sqlite-driver.ts";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Thrown when another process already serves the embedded database. */
export class StoreInUse extends Error {
  override readonly name = "StoreInUse";
}

/**
 * Locks `<file>.lock` until disposed. The lock is one of SQLite's, which the operating system releases even when the process
 * is killed: no stale lock file can keep a server from starting.
 */
export function lockSqliteFile(file: string): AsyncDisposable {
  const held = openLock(`${file}.lock`);
  try {
    held.exec("begin exclusive");
  } catch (error) {
    held.close();
    if (!isBusy(error)) throw translateSqliteError(error);
    throw new StoreInUse(
      `Another server is using ${file}. Stop it first, or give this server its own data (--data-dir or --database).`,
      { cause: error },
    );
  }
  return {
    async [Symbol.asyncDispose]() {
      if (held.isOpen) held.close();
    },
  };
}

function openLock(path: string): DatabaseSync {
  try {
    createPrivateFile(path);
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw translateSqliteError(error);
  }
}

/**
 * Creates an empty file that only its owner can read, unless the file exists. SQLite itself would create it with the umask's
 * mode, often readable by others; it gives the `-wal` and `-shm` files the mode of the database file.
 */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // The file exists, or SQLite will report why it cannot be opened.
  }
}

/** Erasures within this time share one checkpoint. */
const SOON_MS = 1000;

/**
 * The files of an embedded database. With `secure_delete`, SQLite overwrites deleted text in the database file, but older
 * copies of the pages stay in the `-wal` file. Truncating that after an erasure removes the text from the disk within a second
 * or two; the checkpoint is repeated while another process reads an older state.
 */
export function sqliteFiles(db: Kysely<Schema>, log: Log): DatabaseFiles & Disposable {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function truncateLog(): Promise<void> {
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
      void truncateLog();
    }, SOON_MS).unref();
  }

  return {
    textErased,
    shrink: (signal) => shrinkFile(db, signal),
    /** Closing the database truncates the log as well. */
    [Symbol.dispose]() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Share of the file that may stay free: shrinking a file that grows again within days only costs writes. */
const FREE_PART = 0.1;
/** Pages that may stay free in a small file: 4 MiB. */
const FREE_PAGES = 1024;
/** Pages per transaction, which takes some milliseconds: longer ones would delay the commits of queries. */
const PAGES_AT_ONCE = 64;

/** Shrinks the file of an embedded database, a little at a time, when more of it is free than the next days need. */
async function shrinkFile(db: Kysely<Schema>, signal?: AbortSignal): Promise<void> {
  const pages = await read(db, "page_count");
  const wanted = Math.max(FREE_PAGES, Math.floor(pages * FREE_PART));
  let free = await read(db, "freelist_count");
  while (free > wanted) {
    if (signal?.aborted) return;
    const shrunk = db.transaction().execute(async (trx) => {
      // One page per statement: the driver executes only one step of the pragma, whatever number it is given.
      for (let page = 0; page < PAGES_AT_ONCE; page++) await sql`pragma incremental_vacuum(1)`.execute(trx);
    });
    // Pages that are free again are returned after the next deletion.
    await shrunk.catch((error: unknown) => {
      if (!(error instanceof GroupUndone)) throw error;
    });
    const left = await read(db, "freelist_count");
    if (left >= free) return;
    free = left;
  }
}

async function read(db: Kysely<Schema>, name: "page_count" | "freelist_count"): Promise<number> {
  const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(db);
  return rows[0]?.[name] ?? 0;
}
