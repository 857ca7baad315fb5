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

/** Compares the ends of pages in a list with the newest first. */
export const byNewest = (a: PageEnd, b: PageEnd): number => b.at - a.at || (a.id < b.id ? 1 : -1);

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

/** A list's sort columns. */
interface Order {
  at: string;
  id: string;
}

/** The order of most lists. */
const BY_CREATION: Order = { at: "created_at", id: "id" };

/** Rows after a page's last one. The first bound lets an index start there. */
export function olderThan(cursor: string, { at, id }: Order) {
  const end = parseCursor(cursor);
  // A forged cursor's number may exceed the column's type.
  const endAt = sql`cast(${end.at} as bigint)`;
  return sql<SqlBool>`(${sql.ref(at)} <= ${endAt} and (${sql.ref(at)} < ${endAt} or ${sql.ref(id)} < ${end.id}))`;
}

/** Rows after a page's end in a list with the oldest first. The first, redundant bound lets an index start there. */
export const newerThan = (end: PageEnd, { at, id }: Order = BY_CREATION) =>
  sql<SqlBool>`(${sql.ref(at)} >= ${end.at} and (${sql.ref(at)} > ${end.at} or ${sql.ref(id)} > ${end.id}))`;

/** The rows after a cursor, newest first. */
export const newestFirst = <DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  cursor?: string,
  order: Order = BY_CREATION,
) =>
  query
    .$if(cursor !== undefined, (page) => page.where(olderThan(cursor!, order)))
    .orderBy(sql.ref(order.at), "desc")
    .orderBy(sql.ref(order.id), "desc");

/** The rows after a page's end, oldest first. */
export const oldestFirst = <DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  end?: PageEnd,
  order: Order = BY_CREATION,
) =>
  query
    .$if(end !== undefined, (page) => page.where(newerThan(end!, order)))
    .orderBy(sql.ref(order.at))
    .orderBy(sql.ref(order.id));

/**
 * A page of rows, read with one row more than `limit`. `floor`: the oldest row's time, when the search did not read all
 * rows; the next page starts below it.
 */
export function pageFrom<Row>(
  rows: readonly Row[],
  { limit, floor, endOf }: { limit: number; floor?: number | undefined; endOf(row: Row): PageEnd },
): { rows: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length > limit && last) return { rows: page, nextCursor: toCursor(endOf(last)) };
  return { rows: page, nextCursor: floor === undefined ? null : toCursor({ at: floor, id: "" }) };
}

/** Rows that one search page reads. */
const ROWS_READ = 10_000;

type ColumnIn<Row> = (keyof Row & string) | `${string}.${keyof Row & string}`;

/**
 * One page of rows, newest first. `query` has neither an order nor a limit, and selects the columns of `order`.
 * `search` adds a condition without an index: then a page reads a limited number of rows, and may be short.
 */
export async function newestPage<DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  { limit, cursor }: PageAsked,
  order: { at: ColumnIn<Row>; id: ColumnIn<Row> },
  search?: (query: SelectQueryBuilder<DB, Tables, Row>) => SelectQueryBuilder<DB, Tables, Row>,
): Promise<PageOf<Row>> {
  const at = sql.ref<number>(order.at);
  const sorted = newestFirst(query, cursor, order);
  const times = sorted.clearSelect().select(at.as("at")).$castTo<{ at: number }>();
  const oldest = search && (await times.limit(1).offset(ROWS_READ).executeTakeFirst());
  const floor = oldest?.at;
  const rows = await (search?.(sorted) ?? sorted)
    .$if(floor !== undefined, (page) => page.where(sql<SqlBool>`${at} >= ${floor}`))
    .limit(limit + 1)
    .execute();
  const valueOf = (row: Row, column: string) => row[column.slice(column.indexOf(".") + 1) as keyof Row];
  const endOf = (row: Row) => ({ at: valueOf(row, order.at) as number, id: valueOf(row, order.id) as string });
  const page = pageFrom(rows as Row[], { limit, floor, endOf });
  return { items: page.rows, nextCursor: page.nextCursor };
}
