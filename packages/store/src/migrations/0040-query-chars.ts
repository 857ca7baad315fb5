import type { Kysely } from "kysely";

/** Null for runs that an earlier version started. */
export async function queryChars(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("runs").addColumn("query_chars", "integer").execute();
}
