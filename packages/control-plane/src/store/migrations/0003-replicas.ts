import { type Kysely, sql } from "kysely";

/** What several replicas need to know of one another: who took a call, who holds a runtime, how many queries came. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable("calls").addColumn("accepted_by", "text").execute();
  await schema.alterTable("calls").addColumn("arrived", "text").execute();
  await schema
    .alterTable("calls")
    .addColumn("late", "integer", (column) => column.notNull().defaultTo(0))
    .execute();

  await schema.alterTable("runtimes").addColumn("connection_id", "text").execute();
  await schema.alterTable("runtimes").addColumn("replica_id", "text").execute();
  await schema.alterTable("runtimes").addColumn("concurrency", "integer").execute();
  await schema
    .alterTable("runtimes")
    .addColumn("draining", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable("runtimes").addColumn("opened_at", "bigint").execute();
  // Nobody knows which replica held these links: their runtimes connect anew.
  await sql`update runtimes set connected = 0`.execute(db);
  await schema.createIndex("runtimes_by_connection").on("runtimes").column("connection_id").execute();

  // Which function sets are still in use is asked of every run, and of every set that may go.
  await schema.createIndex("runs_by_manifest").on("runs").columns(["agent_id", "manifest_hash"]).execute();

  await schema
    .createTable("rate_windows")
    .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
    .addColumn("window_start", "bigint", (column) => column.notNull())
    .addColumn("count", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("rate_windows_key", ["org_id", "window_start"])
    .execute();
}
