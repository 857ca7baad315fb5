import type { Kysely } from "kysely";

/** Whether a function set that widens access is used, or waits for a confirmation. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("agents")
    .addColumn("access_changes", "text", (column) => column.notNull().defaultTo("follow"))
    .execute();
}
