import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./private-file.ts";
import { isBusy, translateSqliteError } from "./sqlite-errors.ts";

/** Thrown where a second server would serve the same embedded data. */
export class StoreInUse extends Error {
  override readonly name = "StoreInUse";
}

/** Holds `<file>.lock` for this process alone until disposed; the system frees it however the process ends. */
export function lockSqliteFile(file: string): AsyncDisposable {
  const held = openLock(`${file}.lock`);
  try {
    held.exec("begin exclusive");
  } catch (error) {
    held.close();
    if (!isBusy(error)) throw translateSqliteError(error);
    throw new StoreInUse(
      `Another server is using ${file}. Stop that one first, or give this one data of its own (--data-dir or --database).`,
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
