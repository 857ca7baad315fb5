import { type Kysely, sql } from "kysely";

/** The same as 0016-idempotency-scope, in place: the table keeps its row-level security. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("credentials").addColumn("lineage", "text").execute();
  const keys = () => db.schema.alterTable("idempotency_keys");
  await keys().addColumn("scope", "text").execute();
  await sql`update idempotency_keys
    set scope = (select runs.key_id from runs where runs.id = idempotency_keys.run_id)`.execute(db);
  await keys().dropConstraint("idempotency_keys_key").execute();
  // It makes the column `not null`, too.
  await keys().addPrimaryKeyConstraint("idempotency_keys_scoped", ["agent_id", "scope", "key"]).execute();
}
