import { type Kysely, sql } from "kysely";

/** Cases of a function set with their arguments; null unless its newest runtime reported them. */
export async function reportedCases(db: Kysely<unknown>) {
  await sql`alter table manifests add column reported_cases text`.execute(db);
}
