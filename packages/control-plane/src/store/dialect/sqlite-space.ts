import { type Kysely, sql } from "kysely";
import type { Schema } from "../schema.ts";

/** A file that grows again soon is not made smaller: this part of it may be free. */
const FREE_PART = 0.1;
/** And so many pages, 4 MiB, in a small one. */
const FREE_PAGES = 1024;
/** Pages that one transaction moves: some milliseconds. */
const PAGES_AT_ONCE = 64;
/** A file of an earlier version up to this size, 16 MiB, is written again at once: that stops the store for half a second. */
const SMALL_PAGES = 4096;

const INCREMENTAL = 2;

/**
 * Makes the file of an embedded database smaller where more of it is free than the next days need, a little at a time. A file
 * made by an earlier version cannot shrink before it was written again, which is done for a small one here, and for a large one
 * by a backup and its restore.
 */
export async function giveBackSpace(db: Kysely<Schema>, signal?: AbortSignal): Promise<void> {
  const pages = await read(db, "page_count");
  if ((await read(db, "auto_vacuum")) !== INCREMENTAL) {
    if (pages <= SMALL_PAGES) await writeAgain(db);
    return;
  }
  const wanted = Math.max(FREE_PAGES, Math.floor(pages * FREE_PART));
  let free = await read(db, "freelist_count");
  while (free > wanted) {
    if (signal?.aborted) return;
    await db.transaction().execute(async (trx) => {
      // Each statement gives back one page: the driver takes one step of it.
      for (let page = 0; page < PAGES_AT_ONCE; page++) await sql`pragma incremental_vacuum(1)`.execute(trx);
    });
    const left = await read(db, "freelist_count");
    if (left >= free) return;
    free = left;
  }
}

async function writeAgain(db: Kysely<Schema>): Promise<void> {
  await sql`pragma auto_vacuum = incremental`.execute(db);
  await sql`vacuum`.execute(db);
}

async function read(db: Kysely<Schema>, name: "page_count" | "freelist_count" | "auto_vacuum"): Promise<number> {
  const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(db);
  return rows[0]?.[name] ?? 0;
}
