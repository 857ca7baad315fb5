import { sql, type SqlBool } from "kysely";
import { parseCursor } from "../page-cursor.ts";

/** What follows the page that gave this cursor, newest first. The first comparison is the one an index is entered by. */
export function olderThan(cursor: string) {
  const { at, id } = parseCursor(cursor);
  return sql<SqlBool>`created_at <= ${at} and (created_at < ${at} or id < ${id})`;
}
