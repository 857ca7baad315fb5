import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates an empty file that only its owner can read, whatever the mode of its folder, where there is none. SQLite gives the
 * `-wal` and `-shm` files the mode of their database. Where it cannot be created, SQLite says why when it opens it.
 */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // It is there already, or cannot be created.
  }
}
