import { type Kysely, sql } from "kysely";

/**
 * An index costs every query a page to write. Those of runs hold what has not ended, or what has, and no longer both: the
 * former are so few that who looks for work reads them all, and a renewed lease changes no index. Audit entries of runs are
 * found by agent, so that by organisation only the others need be found. Nothing looks for usage or for movements of credits
 * by time.
 */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  for (const unused of [
    "runs_by_thread",
    "runs_by_lease",
    "runs_by_end",
    "audit_by_org",
    "usage_by_org",
    "ledger_by_org",
  ])
    await schema.dropIndex(unused).execute();

  const runs = (name: string, columns: string[]) => schema.createIndex(name).on("runs").columns(columns);
  await runs("runs_open", ["thread_id", "status", "position"]).where(sql.ref("finished_at"), "is", null).execute();
  await runs("runs_ended", ["finished_at"]).where(sql.ref("finished_at"), "is not", null).execute();
  await schema
    .createIndex("audit_of_org")
    .on("audit")
    .columns(["org_id", "created_at"])
    .where(sql.ref("run_id"), "is", null)
    .execute();
}
