import { type Kysely, sql } from "kysely";

/**
 * An Idempotency-Key belongs to the credential that used it, and to those that replace it by rotation. Such credentials share
 * the id of the first of them as their `lineage`, which is null for the first itself. SQLite cannot change a primary key, so
 * the migration replaces the table.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable("credentials").addColumn("lineage", "text").execute();
  await schema
    .createTable("scoped_keys")
    .addColumn("agent_id", "text", (column) => column.notNull())
    .addColumn("scope", "text", (column) => column.notNull())
    .addColumn("key", "text", (column) => column.notNull())
    .addColumn("run_id", "text", (column) => column.notNull())
    .addColumn("body_hash", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("idempotency_keys_scoped", ["agent_id", "scope", "key"])
    .addForeignKeyConstraint("scoped_keys_run", ["run_id"], "runs", ["id"], (constraint) =>
      constraint.onDelete("cascade").deferrable().initiallyDeferred(),
    )
    .execute();
  await sql`insert into scoped_keys (agent_id, scope, key, run_id, body_hash, created_at)
    select held.agent_id, runs.key_id, held.key, held.run_id, held.body_hash, held.created_at
    from idempotency_keys as held join runs on runs.id = held.run_id`.execute(db);
  await schema.dropTable("idempotency_keys").execute();
  await schema.alterTable("scoped_keys").renameTo("idempotency_keys").execute();
  await schema.createIndex("idempotency_keys_by_run").on("idempotency_keys").column("run_id").execute();
}
