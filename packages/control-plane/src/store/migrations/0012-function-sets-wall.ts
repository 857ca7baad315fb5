import { type Kysely, sql } from "kysely";
import { wall } from "./0004-wall.ts";

/** Postgres only: holds organisations apart in the order of function sets as in the other tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await wall(db, "function_sets", sql`org_id`);
}
