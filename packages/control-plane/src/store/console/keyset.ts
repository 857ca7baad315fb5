import { sql, type SqlBool } from "kysely";
import { type PageEnd, parseCursor, toCursor } from "../page-cursor.ts";

/** Names of the columns that a list is ordered by, newest first. */
export interface Order {
  at: string;
  id: string;
}

/** Rows that come after the one where a page ended. The first bound is all that an index needs to begin there. */
export function olderThan(cursor: string, { at, id }: Order) {
  const end = parseCursor(cursor);
  // The column may be a smaller one than what a forged cursor names.
  const endAt = sql`cast(${end.at} as bigint)`;
  return sql<SqlBool>`(${sql.ref(at)} <= ${endAt} and (${sql.ref(at)} < ${endAt} or ${sql.ref(id)} < ${end.id}))`;
}

/**
 * A page of rows that were read with one more than `limit`. `floor`: the time of the oldest row that was looked at, where older
 * ones were left out; the next page begins below it.
 */
export function pageFrom<Row>(
  rows: readonly Row[],
  { limit, floor, endOf }: { limit: number; floor: number | undefined; endOf(row: Row): PageEnd },
): { rows: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length > limit && last) return { rows: page, nextCursor: toCursor(endOf(last)) };
  return { rows: page, nextCursor: floor === undefined ? null : toCursor({ at: floor, id: "" }) };
}
