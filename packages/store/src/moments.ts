import { sql } from "kysely";
import type { Engine } from "./engine.ts";

type Clock = Pick<Engine, "dialect">;

export const DAY_MS = 86_400_000;

/** The start of a moment's day (UTC). */
export const startOfDay = (at: number): number => at - (at % DAY_MS);

/** A later moment. Postgres takes a parameter next to an operator for a text. */
export const inMs = ({ dialect }: Clock, ms: number) => sql<number>`${dialect.now} + cast(${ms} as bigint)`;

/**
 * A past moment as a sub-select. With row-level security, Postgres uses an index only for conditions that cannot raise
 * an error (an error could reveal hidden rows), and its subtraction can overflow. A sub-select is evaluated before and
 * is a plain value.
 */
export const ago = ({ dialect }: Clock, ms: number) => sql<number>`(select ${dialect.now} - ${ms})`;

/** The database's time. */
export const nowOf = async ({ db, dialect }: Pick<Engine, "db" | "dialect">): Promise<number> =>
  (await db.selectNoFrom(dialect.now.as("now")).executeTakeFirstOrThrow()).now;
