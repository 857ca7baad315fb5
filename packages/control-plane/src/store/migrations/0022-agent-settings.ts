import type { Kysely } from "kysely";

/** How the runs of an agent ask their model, as one JSON object: settings are read and changed together. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable("agents")
    .addColumn("settings", "text", (column) => column.notNull().defaultTo("{}"))
    .execute();
}
