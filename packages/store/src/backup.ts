import { open, unlink } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import type { Engine } from "./engine.ts";
import { FIRST_MIGRATION } from "./migrate.ts";

/** Thrown when a backup cannot be made or read. The message is meant for the user of the command. */
export class BackupFailed extends Error {
  override readonly name = "BackupFailed";
}

/** Writes a consistent copy into a new file that only its owner can read, and syncs it to the disk. */
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

/** Copies a backup, or an embedded database that no server uses, into a new file. Throws `BackupFailed` for other files. */
export async function copyBackup(file: string, copy: string): Promise<void> {
  const source = openBackup(file);
  try {
    await createEmpty(copy);
    source.prepare("vacuum into ?").run(copy);
  } finally {
    source.close();
  }
}

/** Opens a backup read-only. A file of another program or unreleased version would otherwise fail after the restore. */
function openBackup(file: string): DatabaseSync {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(file, { readOnly: true });
    const first = source.prepare("select name from kysely_migration where name = ?").get(FIRST_MIGRATION);
    if (!first) throw new Error("The first migration of this version is missing.");
    return source;
  } catch (error) {
    source?.close();
    throw new BackupFailed(
      `${file} is not a backup of a Patchbay database of version 0.1.0 or later, or cannot be read.`,
      { cause: error },
    );
  }
}

/** Creates the file first, which fails when it exists: SQLite would write a backup into any existing empty database. */
async function createEmpty(file: string): Promise<void> {
  try {
    const handle = await open(file, "wx", 0o600);
    await handle.close();
  } catch (error) {
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
    const message = exists
      ? `${file} exists. Backups never overwrite files: choose another name.`
      : `${file} cannot be written: choose a folder that exists and is writable.`;
    throw new BackupFailed(message, { cause: error });
  }
}
