import type { Kysely } from "kysely";

/** How much history a thread had when a run ended: which earlier runs a model is sent depends on it. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable("runs").addColumn("history_total", "bigint").execute();
}
