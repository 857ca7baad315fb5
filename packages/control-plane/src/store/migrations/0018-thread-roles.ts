import { type Kysely, sql } from "kysely";

/**
 * Which roles a thread has runs of, and since when: a key pinned to roles lists its threads from an index, and sees no times of
 * other roles. Runs without a role have the role ''.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable("thread_roles")
    .addColumn("thread_id", "text", (column) => column.notNull().references("threads.id").onDelete("cascade"))
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("org_id", "text", (column) => column.notNull())
    .addColumn("agent_id", "text", (column) => column.notNull())
    .addColumn("session_id", "text")
    .addColumn("first_position", "integer", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("updated_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("thread_roles_key", ["thread_id", "role"])
    .execute();
  await sql`
    insert into thread_roles (thread_id, role, org_id, agent_id, session_id, first_position, created_at, updated_at)
    select thread_id, role, org_id, agent_id,
      (select runs.session_id from runs where runs.thread_id = seen.thread_id and coalesce(runs.role, '') = seen.role
        and runs.session_id is not null order by runs.position desc limit 1),
      first_position, created_at, updated_at
    from (select thread_id, coalesce(role, '') as role, min(org_id) as org_id, min(agent_id) as agent_id,
        min(position) as first_position, min(created_at) as created_at, max(coalesce(finished_at, created_at)) as updated_at
      from runs group by thread_id, coalesce(role, '')) as seen`.execute(db);
  await schema
    .createIndex("thread_roles_by_update")
    .on("thread_roles")
    .columns(["agent_id", "role", "updated_at", "thread_id"])
    .execute();
}
