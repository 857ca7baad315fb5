import { isJsonObject, parseJson } from "@patchbay/kit";
import { type SelectQueryBuilder, sql, type SqlBool } from "kysely";
import { ServiceError } from "@patchbay/engine/ports/service-error";

/** Where a list page starts, and its size. */
export interface PageAsked {
  limit: number;
  /** Queries throw `invalid_request` for a cursor that no page returned. */
  cursor?: string | undefined;
}

/**
 * One list page. A search reads a limited number of rows per page, so a page can be short, or even empty, and still
 * have a `nextCursor`, which continues with older rows.
 */
export interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

/** Where a page ended, in a list ordered by time and then by id. */
export interface PageEnd {
  at: number;
  id: string;
}

/** Encodes a page's end. Clients must treat a cursor as opaque. */
export function toCursor({ at, id }: PageEnd): string {
  return Buffer.from(JSON.stringify({ u: at, id })).toString("base64url");
}

/** Throws `invalid_request` for text that is not a cursor. A forged cursor only moves the page's start. */
export function parseCursor(cursor: string): PageEnd {
  const parsed = parseJson(Buffer.from(cursor, "base64url").toString());
  const value = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const { u: at, id } = value;
  if (typeof at === "number" && Number.isSafeInteger(at) && typeof id === "string") return { at, id };
  const message = "is not one that this service gave; leave it out to begin at the first page";
  throw new ServiceError("invalid_request", `cursor ${message}`, { details: [{ path: "cursor", message }] });
}

/** A list's sort columns, newest first. */
interface Order {
  at: string;
  id: string;
}

/** Rows after a page's last one. The first bound lets an index start there. */
export function olderThan(cursor: string, { at, id }: Order) {
  const end = parseCursor(cursor);
  // A forged cursor's number may exceed the column's type.
  const endAt = sql`cast(${end.at} as bigint)`;
  return sql<SqlBool>`(${sql.ref(at)} <= ${endAt} and (${sql.ref(at)} < ${endAt} or ${sql.ref(id)} < ${end.id}))`;
}

/**
 * A page of rows, read with one row more than `limit`. `floor`: the oldest row's time, when the search did not read all
 * rows; the next page starts below it.
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

/** One page of rows, newest first. `query` has neither an order nor a limit; its rows have the columns of `order`. */
export async function newestPage<DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  { limit, cursor }: PageAsked,
  { at, id }: { at: keyof Row & string; id: keyof Row & string },
): Promise<PageOf<Row>> {
  const rows = await query
    .$if(cursor !== undefined, (page) => page.where(olderThan(cursor!, { at, id })))
    .orderBy(sql.ref(at), "desc")
    .orderBy(sql.ref(id), "desc")
    .limit(limit + 1)
    .execute();
  const endOf = (row: Row) => ({ at: row[at] as number, id: row[id] as string });
  const page = pageFrom(rows as Row[], { limit, floor: undefined, endOf });
  return { items: page.rows, nextCursor: page.nextCursor };
}
