import { open, unlink } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import type { Engine } from "./schema.ts";

/** Thrown where a backup cannot be made; the message is for the person who asked for it. */
export class BackupFailed extends Error {
  override readonly name = "BackupFailed";
}

/** Writes a consistent copy into a new file, readable by its owner alone, and waits until it is on the disk. */
export async function backup({ db }: Engine, file: string): Promise<void> {
  await createEmpty(file);
  try {
    await sql`vacuum into ${file}`.execute(db);
    const handle = await open(file, "r+");
    await handle.sync();
    await handle.close();
  } catch (error) {
    await unlink(file);
    throw error;
  }
}

/**
 * Copies a backup, or an embedded database that no server uses, into a new file, which gives free space back from then on.
 * Throws `BackupFailed` for a file that is not a backup.
 */
export async function copyBackup(file: string, copy: string): Promise<void> {
  const source = openBackup(file);
  try {
    await createEmpty(copy);
    source.prepare("vacuum into ?").run(copy);
  } finally {
    source.close();
  }
  // A backup of a file that an earlier version made is written once more: from then on the file can shrink.
  const made = new DatabaseSync(copy);
  if (made.prepare("pragma auto_vacuum").get()?.["auto_vacuum"] === 0)
    made.exec("pragma auto_vacuum = incremental; vacuum");
  made.close();
}

function openBackup(file: string): DatabaseSync {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(file, { readOnly: true });
    source.prepare("select name from kysely_migration").get();
    source.prepare("select id from orgs").get();
    return source;
  } catch (error) {
    source?.close();
    throw new BackupFailed(`${file} is not a backup of a Patchbay database, or cannot be read.`, { cause: error });
  }
}

/** SQLite fills an empty file, so that making it first is what keeps an existing one from harm. */
async function createEmpty(file: string): Promise<void> {
  try {
    const handle = await open(file, "wx", 0o600);
    await handle.close();
  } catch (error) {
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
    const message = exists
      ? `${file} exists. A backup overwrites nothing: choose another name.`
      : `${file} cannot be written: choose a folder that exists and is writable.`;
    throw new BackupFailed(message, { cause: error });
  }
}
