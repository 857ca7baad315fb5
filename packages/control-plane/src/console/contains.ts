import { type Expression, sql, type SqlBool } from "kysely";

/** True if the expression contains the text, whatever the case of letters. */
export const contains = (expression: Expression<string | null>, q: string) =>
  sql<SqlBool>`lower(${expression}) like lower(cast(${`%${q.replace(/[\\%_]/g, "\\$&")}%`} as text)) escape '\\'`;
