import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { AccessChange, AccessLock, AccessMatrix } from "@patchbay/functions/access";
import { CommandFailure, reasonOf } from "../failure.ts";

const NAME = "access.lock.json";

/** Where the lock of a service file stands, as a person in this folder would name it. */
export function lockFileOf(servicePath: string): { file: string; exists: boolean } {
  const path = join(dirname(servicePath), NAME);
  const near = relative(process.cwd(), path);
  return { file: near.startsWith("..") ? path : near, exists: existsSync(path) };
}

/** Reads the lock beside a service file. Throws with what to do when there is none, or none that can be read. */
export async function readLock(servicePath: string): Promise<{ file: string; lock: AccessLock }> {
  const { file, exists } = lockFileOf(servicePath);
  if (!exists) throw new CommandFailure(`There is no ${file} to compare with. Write it with --write and commit it.`);
  const { parseLock } = await import("@patchbay/functions/access");
  try {
    return { file, lock: parseLock(await readFile(file, "utf8")) };
  } catch (error) {
    throw new CommandFailure(
      `${file} is no access lock: ${reasonOf(error)}. Restore it, or write it anew with --write.`,
    );
  }
}

/** Writes the lock, and says what changed since the one that stood there; nothing where none could be read. */
export async function saveLock(
  servicePath: string,
  matrix: AccessMatrix,
): Promise<{ file: string; changes: AccessChange[] }> {
  const { compareAccess, lockOf, writeLock } = await import("@patchbay/functions/access");
  const before = await readLock(servicePath).catch(() => undefined);
  const { file } = lockFileOf(servicePath);
  await writeFile(file, writeLock(lockOf(matrix)));
  return { file, changes: before === undefined ? [] : compareAccess(before.lock, matrix) };
}
