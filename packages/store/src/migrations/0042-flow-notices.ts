import { type Kysely, sql } from "kysely";

/** What data-flow rules ask about, as JSON. Null for approvals that the owner's code asks for. */
export async function flowNotices(db: Kysely<unknown>): Promise<void> {
  await sql`alter table approvals add column flow text`.execute(db);
}
