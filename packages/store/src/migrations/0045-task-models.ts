import { type Kysely, sql } from "kysely";

/** Of an API key: the model name under which its client sends background tasks. */
export async function taskModels(db: Kysely<unknown>): Promise<void> {
  await sql`alter table credentials add column task_model text`.execute(db);
}
