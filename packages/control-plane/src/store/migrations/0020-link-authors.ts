import { type Kysely, sql } from "kysely";

/**
 * Links get an author, and an address is taken by those who joined with it: an invitation that another organisation made for it
 * blocks nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .alterTable("console_links")
    .addColumn("created_by", "text", (column) => column.references("members.id").onDelete("cascade"))
    .execute();
  await schema.createIndex("console_links_by_author").on("console_links").column("created_by").execute();
  // Links from before have no author: none of them could be voided when the member who made it is removed.
  await sql`delete from console_links where used_at is null and kind = 'invitation'`.execute(db);

  await schema.dropIndex("members_by_email").execute();
  await schema
    .createIndex("members_by_address")
    .unique()
    .on("members")
    .columns(["org_id", "email"])
    .where(sql.ref("removed_at"), "is", null)
    .execute();
  await schema
    .createIndex("members_signing_in")
    .unique()
    .on("members")
    .column("email")
    .where(sql.ref("removed_at"), "is", null)
    .where(sql.ref("password_hash"), "is not", null)
    .execute();
}
