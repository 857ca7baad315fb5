import { type Kysely, sql } from "kysely";

/** The key for the pseudonyms in an organisation's audit log. Null until its first run in this version. */
export async function auditKeys(db: Kysely<unknown>): Promise<void> {
  await sql`alter table orgs add column audit_key text`.execute(db);
}
