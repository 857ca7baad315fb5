import { open, unlink } from "node:fs/promises";
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

/** SQLite fills an empty file, so that making it first is what keeps an existing one from harm. */
async function createEmpty(file: string): Promise<void> {
  try {
    const handle = await open(file, "wx", 0o600);
    await handle.close();
  } catch (error) {
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
    const message = exists
      ? `${file} exists already, and a backup overwrites nothing: choose another name.`
      : `${file} cannot be written: choose a folder that exists and is writable.`;
    throw new BackupFailed(message, { cause: error });
  }
}
