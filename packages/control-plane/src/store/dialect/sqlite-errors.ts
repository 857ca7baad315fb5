import { StoreUnavailable } from "../../ports/run-store.ts";

const BUSY = 5;

const REASONS: Record<number, string> = {
  [BUSY]: "another process kept the database locked for too long",
  6: "another connection kept a table locked",
  8: "the database is read-only",
  10: "the disk failed",
  13: "the disk is full",
  14: "the database file cannot be opened",
};

/** Faults of the place where the database lies become `StoreUnavailable`; anything else is returned as it is. */
export function translateSqliteError(error: unknown): unknown {
  const code = primaryCode(error);
  const reason = code === undefined ? undefined : REASONS[code];
  return reason === undefined ? error : new StoreUnavailable(`The store is unavailable: ${reason}.`, { cause: error });
}

/** True where another connection holds the lock that was wanted. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

/** SQLite's primary result code: extended codes carry the cause in the higher bytes. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}
