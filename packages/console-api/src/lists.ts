import { type Expression, sql, type SqlBool } from "kysely";
import { isoTime } from "@patchbay/kit";
import type { Engine } from "@patchbay/store/engine";
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
