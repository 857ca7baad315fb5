import { type Kysely, sql } from "kysely";

/** What a runtime runs, as it says on connecting; and when a function set came first, since `created_at` moves while it is in use. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("runtimes").addColumn("sdk", "text").execute();
  await db.schema.alterTable("manifests").addColumn("first_seen_at", "bigint").execute();
  await sql`update manifests set first_seen_at = created_at`.execute(db);
}
