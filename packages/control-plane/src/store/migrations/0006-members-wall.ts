import { type Kysely, sql } from "kysely";
import { wall } from "./0004-wall.ts";

/** Postgres alone: holds organisations apart in the tables of the console as in the others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["members", "console_sessions", "console_links"]) await wall(db, table, sql`org_id`);
}
