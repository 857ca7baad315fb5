import { clearTimer, setTimeout } from "@patchbay/kit/time";
import type { DatabaseFiles } from "../engine.ts";
import { type Kysely, sql } from "kysely";
import type { Log } from "@patchbay/kit";
import type { Pass } from "../pass.ts";
import type { Schema } from "../tables/schema.ts";
import { DatabaseSync } from "node:sqlite";
import { isBusy, translateSqliteError } from "@patchbay/database/sqlite-database";
import { GroupUndone } from "@patchbay/database/sqlite-driver";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Thrown when another process already serves the embedded database. */
export class StoreInUse extends Error {
  override readonly name = "StoreInUse";
}

/**
 * Locks `<file>.lock` until disposed. It is an SQLite lock, which the operating system releases even when the process
 * is killed: a stale lock file cannot prevent a server's start.
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
 * Creates an empty file that only its owner can read, unless the file exists. SQLite itself would create it with the
 * umask's mode, often readable by others; it gives the `-wal` and `-shm` files the database file's mode.
 */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // The file exists, or SQLite will report why it cannot be opened.
  }
}

/** Suffix for the file that a restore prepares next to the database. */
export const UNFINISHED = ".restoring";

/** Throws if the database is absent because a restore was interrupted: an empty one in its place would refuse every key. */
export function refuseUnfinishedRestore(path: string): void {
  if (existsSync(path) || !existsSync(path + UNFINISHED)) return;
  throw new Error(
    `A restore of ${path} was interrupted, and the database does not exist. Run "patchbay db restore" again, or remove ${path}${UNFINISHED} to begin with an empty database.`,
  );
}

/**
 * Writes the write-ahead log into a database that no other process has open, and ends the log, so that the database is
 * a single file. A file that SQLite cannot read has no such log. Throws `StoreInUse` if another process has it open.
 */
export function closeLog(file: string): void {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    if (database.prepare("pragma journal_mode = delete").get()?.["journal_mode"] === "delete") return;
  } catch (error) {
    if (isUnreadable(error)) return;
    if (!isBusy(error)) throw translateSqliteError(error);
  } finally {
    database?.close();
  }
  throw new StoreInUse(`Another process has ${file} open. Stop it first, then run the restore again.`);
}

const UNREADABLE: ReadonlySet<unknown> = new Set([11, 26]);

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && UNREADABLE.has(Number(error.errcode) & 0xff);

/** Erasures within this time share one checkpoint. */
const SOON_MS = 1000;

/**
 * An embedded database's files. With `secure_delete`, SQLite overwrites deleted text in the database file, but older
 * page versions stay in the `-wal` file. Truncating that after an erasure removes the text from the disk within a
 * second or two; the checkpoint is repeated while another process reads an older state.
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
    shrink: (pass) => shrinkFile(db, pass),
    /** Closing the database truncates the log as well. */
    [Symbol.dispose]() {
      closed = true;
      clearTimer(timer);
    },
  };
}

/** Fraction of the file that may stay free: shrinking a file that grows again within days only costs writes. */
const FREE_PART = 0.1;
/** Pages that may stay free in a small file: 4 MiB. */
const FREE_PAGES = 1024;
/** Pages per transaction, which takes some milliseconds: longer ones would delay the commits of queries. */
const PAGES_AT_ONCE = 64;

/** Shrinks an embedded database's file, a little at a time, when more is free than the next days need. */
async function shrinkFile(db: Kysely<Schema>, { signal, spend }: Pass): Promise<void> {
  const pages = await read(db, "page_count");
  const wanted = Math.max(FREE_PAGES, Math.floor(pages * FREE_PART));
  let free = await read(db, "freelist_count");
  while (free > wanted) {
    if (signal?.aborted) return;
    const shrunk = spend(async () => {
      await db.transaction().execute(async (trx) => {
        // One page per statement: the driver executes only one step of the pragma, whatever its number.
        for (let page = 0; page < PAGES_AT_ONCE; page++) await sql`pragma incremental_vacuum(1)`.execute(trx);
      });
      return PAGES_AT_ONCE;
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
