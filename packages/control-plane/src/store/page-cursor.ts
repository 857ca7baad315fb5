import { isJsonObject, parseJson } from "@patchbay/protocol";
import { sql, type SqlBool } from "kysely";
import { ServiceError } from "../ports/service-error.ts";

/** Where a page of a list begins, and its size. */
export interface PageAsked {
  limit: number;
  /** Queries throw `invalid_request` for a cursor that no page returned. */
  cursor?: string | undefined;
}

/**
 * One page of a list. A search reads a limited number of rows per page, so that a page can be short, or even empty, and still have
 * a `nextCursor`, which continues with older rows.
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

/** Encodes the end of a page. Clients must treat a cursor as opaque. */
export function toCursor({ at, id }: PageEnd): string {
  return Buffer.from(JSON.stringify({ u: at, id })).toString("base64url");
}

/** Throws `invalid_request` for text that is not a cursor. A forged cursor only moves the start of the page. */
export function parseCursor(cursor: string): PageEnd {
  const parsed = parseJson(Buffer.from(cursor, "base64url").toString());
  const value = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const { u: at, id } = value;
  if (typeof at === "number" && Number.isSafeInteger(at) && typeof id === "string") return { at, id };
  const message = "is not one that this service gave; leave it out to begin at the first page";
  throw new ServiceError("invalid_request", `cursor ${message}`, { details: [{ path: "cursor", message }] });
}

/** The columns that a list is sorted by, newest first. */
interface Order {
  at: string;
  id: string;
}

/** Rows after the last one of a page. The first bound lets an index start there. */
export function olderThan(cursor: string, { at, id }: Order) {
  const end = parseCursor(cursor);
  // The number of a forged cursor may exceed the column's type.
  const endAt = sql`cast(${end.at} as bigint)`;
  return sql<SqlBool>`(${sql.ref(at)} <= ${endAt} and (${sql.ref(at)} < ${endAt} or ${sql.ref(id)} < ${end.id}))`;
}

/**
 * A page of rows, which were read with one row more than `limit`. `floor`: the time of the oldest row that the search read, when it
 * did not read them all; the next page starts below it.
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
