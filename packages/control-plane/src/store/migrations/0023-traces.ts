import type { Kysely } from "kysely";

/** Where the spans of a run belong, so that another replica continues the trace. */
export async function traces(db: Kysely<unknown>) {
  await db.schema.alterTable("runs").addColumn("trace", "text").execute();
}
