import { type Kysely, sql } from "kysely";
import { wall } from "./0004-wall.ts";

/** Postgres only: holds organisations apart in the roles of threads as in the other tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await wall(db, "thread_roles", sql`org_id`);
}
