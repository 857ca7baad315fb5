import type { Kysely } from "kysely";

/** The id of the request that began a run; null for runs of earlier versions. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable("runs").addColumn("request_id", "text").execute();
}
