/**
 * A value as both databases store it: Postgres can store neither NUL nor half of a surrogate pair in text, so SQLite
 * does not either. Returns other values unchanged.
 */
export const storedText = (value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\uFFFD") : value;
