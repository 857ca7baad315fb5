import { type Expression, type SelectQueryBuilder, sql, type SqlBool } from "kysely";
import { isoTime } from "@patchbay/kit";
import type { Engine } from "@patchbay/store/engine";
import { olderThan, type PageAsked, pageFrom } from "@patchbay/store/page-cursor";
import { indexedTo } from "@patchbay/store/runs/run-index";

/** One agent of an organisation, to which a query is restricted. */
export interface AgentScope {
  orgId: string;
  agentId: string;
}

/** The query on this engine. */
export const onEngine =
  <Asked extends unknown[], Found>(engine: Engine, query: (engine: Engine, ...asked: Asked) => Found) =>
  (...asked: Asked): Found =>
    query(engine, ...asked);

/** Rows that one search page reads. */
const ROWS_READ = 10_000;

/**
 * One page of a list, newest first. `order` names the selected columns with the time and the id. `search` adds a
 * condition without an index: then a page reads a limited number of rows, and may be short.
 */
export async function newestPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  order: { at: string; id: string },
  { limit, cursor }: PageAsked,
  search?: (query: SelectQueryBuilder<DB, TB, Row>) => SelectQueryBuilder<DB, TB, Row>,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const [at, id] = [sql.ref<number>(order.at), sql.ref(order.id)];
  const rest = cursor === undefined ? query : query.where(olderThan(cursor, order));
  const sorted = rest.orderBy(at, "desc").orderBy(id, "desc");
  const oldest = search && sorted.clearSelect().select(at.as("at")).limit(1).offset(ROWS_READ);
  const { at: floor } = ((await oldest?.executeTakeFirst()) ?? {}) as { at?: number };
  const searched = search?.(sorted) ?? sorted;
  const bounded = floor === undefined ? searched : searched.where(sql<SqlBool>`${at} >= ${floor}`);
  const rows = await bounded.limit(limit + 1).execute();
  const valueOf = (row: Row, column: string) => row[column.slice(column.indexOf(".") + 1) as keyof Row];
  const endOf = (row: Row) => ({ at: valueOf(row, order.at) as number, id: valueOf(row, order.id) as string });
  return pageFrom(rows as Row[], { limit, floor, endOf });
}

/** True if the expression contains the text, ignoring case. */
export const contains = (expression: Expression<string | null>, q: string) =>
  sql<SqlBool>`lower(${expression}) like lower(cast(${`%${q.replace(/[\\%_]/g, "\\$&")}%`} as text)) escape '\\'`;

/** True if the expression starts with the text. */
export const begins = (expression: Expression<string>, prefix: string) =>
  sql<SqlBool>`substr(${expression}, 1, ${sql.lit(prefix.length)}) = ${prefix}`;

/** Until when the index has all ended runs of an organisation, for an answer from it. Empty while up to date. */
export async function completeness(engine: Engine, orgId: string): Promise<{ indexedTo?: string }> {
  const to = await indexedTo(engine, orgId);
  return to === undefined ? {} : { indexedTo: isoTime(to) };
}
