import { type Kysely, sql } from "kysely";

/** The part of a turn's output tokens that was reasoning. Null for turns of earlier versions, and where none is reported. */
export async function reasoningTokens(db: Kysely<unknown>): Promise<void> {
  await sql`alter table usage add column reasoning_tokens bigint`.execute(db);
}
