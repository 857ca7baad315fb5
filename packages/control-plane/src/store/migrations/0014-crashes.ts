import { type Kysely, sql } from "kysely";

/**
 * How often a process ended while it worked on a run. Claims count only those in quarantine from here on. The index finds the
 * runs of an organisation that nobody works on, oldest first; a run that starts at once costs it nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .alterTable("runs")
    .addColumn("crashes", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update runs set claims = 0 where claims > 0 and finished_at is null`.execute(db);
  await sql`create index runs_unowned on runs (org_id, created_at, id)
    where finished_at is null and owner is null`.execute(db);
}
