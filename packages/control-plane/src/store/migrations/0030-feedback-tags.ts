import { type Kysely, sql } from "kysely";

/** The newest feedback with tags of an organisation is found without its other feedback. Ids of runs begin with their time. */
export async function feedbackTags(db: Kysely<unknown>) {
  await sql`create index feedback_tagged on feedback (org_id, run_id) where tags is not null`.execute(db);
}
