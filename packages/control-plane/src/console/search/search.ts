import type { ConsoleRole, Found } from "@patchbay/protocol/console";
import { type Expression, sql, type SqlBool } from "kysely";
import type { Engine } from "../../store/engine.ts";
import { likeLiteral } from "../runs/filter.ts";

/** Of each kind. */
export const MOST = 5;

/** The member who searches. */
export interface Searcher {
  orgId: string;
  memberId: string;
  role: ConsoleRole;
}

/** Finds things of one kind. */
export type Search = (engine: Engine, by: Searcher, q: string) => Promise<Found[]>;

/** True if the column contains the text, whatever the case of letters. */
export const contains = (column: Expression<string>, q: string) =>
  sql<SqlBool>`lower(${column}) like lower(cast(${`%${likeLiteral(q)}%`} as text)) escape '\\'`;
