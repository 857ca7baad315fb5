import type { Kysely } from "kysely";

/** Audit rows name the function set their run had, and are found by organisation and by function set. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable("audit").addColumn("manifest_hash", "text").execute();
  await schema.createIndex("audit_by_org").on("audit").columns(["org_id", "created_at"]).execute();
  await schema
    .createIndex("audit_by_manifest")
    .on("audit")
    .columns(["agent_id", "manifest_hash"])
    .where("manifest_hash", "is not", null)
    .execute();
}
