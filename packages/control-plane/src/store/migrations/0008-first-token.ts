import { type Kysely, sql } from "kysely";

/** The time to the first token of a turn, in milliseconds. In `usage`, where figures are read without the runs. */
export async function firstToken(db: Kysely<unknown>) {
  await sql`alter table usage add column first_token_ms integer`.execute(db);
}
