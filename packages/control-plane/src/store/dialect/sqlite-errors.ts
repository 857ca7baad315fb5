import { StoreUnavailable } from "../../ports/run-store.ts";

const REASONS: Record<number, string> = {
  5: "another process kept the database locked for too long",
  6: "another connection kept a table locked",
  8: "the database is read-only",
  10: "the disk failed",
  13: "the disk is full",
  14: "the database file cannot be opened",
};

/** Faults of the place where the database lies become `StoreUnavailable`; anything else is returned as it is. */
export function translateSqliteError(error: unknown): unknown {
  const code = sqliteCode(error);
  const reason = code === undefined ? undefined : REASONS[code];
  return reason === undefined ? error : new StoreUnavailable(`The store is unavailable: ${reason}.`, { cause: error });
}

/** SQLite's primary result code: extended codes carry the cause in the higher bytes. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}
