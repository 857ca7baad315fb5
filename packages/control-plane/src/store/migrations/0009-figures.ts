import { type Kysely, sql } from "kysely";

/**
 * What figures over a time are counted from, without reading the large columns beside it: usage and calls tell whose they are,
 * and indexes hold what ended. They are partial, so that a row costs one entry, at its end.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable("usage").addColumn("role", "text").execute();
  await schema.alterTable("calls").addColumn("agent_id", "text").execute();
  await schema.alterTable("calls").addColumn("role", "text").execute();
  await schema.alterTable("calls").addColumn("state", "text").execute();
  await sql`update usage set role = (select runs.role from runs where runs.id = usage.run_id)`.execute(db);
  await sql`update calls set
    agent_id = (select runs.agent_id from runs where runs.id = calls.run_id),
    role = (select runs.role from runs where runs.id = calls.run_id),
    state = case when outcome is not null then coalesce(
      (select min(substr(audit.action, 6)) from audit where audit.run_id = calls.run_id and audit.call_id = calls.id
        and audit.action in ('call.succeeded', 'call.failed', 'call.denied')),
      case when outcome like '{"ok":false%' then 'failed' else 'succeeded' end) end`.execute(db);

  await schema.createIndex("usage_by_agent").on("usage").columns(["org_id", "agent_id", "created_at"]).execute();
  await schema
    .createIndex("runs_by_outcome")
    .on("runs")
    .columns(["org_id", "agent_id", "created_at", "role", "status", "finished_at"])
    .where("finished_at", "is not", null)
    .execute();
  await schema
    .createIndex("calls_ended")
    .on("calls")
    .columns(["org_id", "agent_id", "finished_at", "role", "function_name", "state", "created_at"])
    .where("finished_at", "is not", null)
    .execute();

  for (const table of ["ledger", "audit"])
    await schema.createIndex(`${table}_by_time`).on(table).columns(["org_id", "created_at"]).execute();

  // What is looked for among many entries of a usual course.
  await sql`create index ledger_unusual on ledger (org_id, created_at) where kind in ('grant', 'release')`.execute(db);
  await sql`create index audit_unusual on audit (org_id, created_at)
    where action not in ('run.started', 'run.succeeded', 'call.succeeded')`.execute(db);
}
