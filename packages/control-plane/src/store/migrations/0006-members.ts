import { type ColumnDefinitionBuilder, type Kysely, sql } from "kysely";

const required = (column: ColumnDefinitionBuilder) => column.notNull();
const primary = (column: ColumnDefinitionBuilder) => column.notNull().primaryKey();

/** People who sign in to the console, their sessions, and links that are used once. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("members")
    .addColumn("id", "text", primary)
    .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
    .addColumn("email", "text")
    .addColumn("name", "text", required)
    .addColumn("role", "text", required)
    .addColumn("password_hash", "text")
    .addColumn("created_at", "bigint", required)
    .addColumn("last_seen_at", "bigint")
    .addColumn("removed_at", "bigint")
    .execute();
  await schema.createIndex("members_by_org").on("members").columns(["org_id", "created_at", "id"]).execute();
  // A removed member's address may be invited again.
  await schema
    .createIndex("members_by_email")
    .unique()
    .on("members")
    .column("email")
    .where(sql.ref("removed_at"), "is", null)
    .execute();

  await schema
    .createTable("console_sessions")
    .addColumn("hash", "text", primary)
    .addColumn("org_id", "text", required)
    .addColumn("member_id", "text", (column) => column.notNull().references("members.id").onDelete("cascade"))
    .addColumn("created_at", "bigint", required)
    .addColumn("last_seen_at", "bigint", required)
    .addColumn("confirmed_until", "bigint", required)
    .addColumn("expires_at", "bigint", required)
    .execute();
  await schema.createIndex("console_sessions_by_member").on("console_sessions").column("member_id").execute();

  await schema
    .createTable("console_links")
    .addColumn("hash", "text", primary)
    .addColumn("kind", "text", required)
    .addColumn("org_id", "text", (column) => column.references("orgs.id"))
    .addColumn("member_id", "text", (column) => column.references("members.id").onDelete("cascade"))
    .addColumn("created_at", "bigint", required)
    .addColumn("expires_at", "bigint", required)
    .addColumn("used_at", "bigint")
    .execute();
  // Replicas that start together make one set-up link, not one each.
  await schema
    .createIndex("console_links_one_setup")
    .unique()
    .on("console_links")
    .column("kind")
    .where("kind", "=", "setup")
    .where(sql.ref("used_at"), "is", null)
    .execute();
  await schema.createIndex("console_links_by_member").on("console_links").column("member_id").execute();
}
