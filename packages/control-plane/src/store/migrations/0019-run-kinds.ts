import { type Kysely, sql } from "kysely";

/**
 * What a run is: a query, one direct call, or a background task of a chat client. Threads of calls and tasks are `listed` 0. The
 * indexes keep them apart, because a list must not read thousands of calls between two queries.
 */
export async function runKinds(db: Kysely<unknown>) {
  const statements = [
    "alter table runs add column kind text not null default 'query'",
    // Only members could make calls without a model. A text cannot contain these quotes, but the context of a client could.
    `update runs set kind = 'call' where substr(key_id, 1, 4) = 'mem_'
      and request like '%,"provider":"test_call","model":"test_call",%'`,
    "alter table threads add column listed integer not null default 1",
    `update threads set listed = 0 where id in (select thread_id from runs where kind = 'call')
      and not exists (select 1 from runs where runs.thread_id = threads.id and runs.kind = 'query')`,
    "drop index threads_by_update",
    "create index threads_by_update on threads (agent_id, listed, updated_at, id)",
    "alter table thread_roles add column listed integer not null default 1",
    `update thread_roles set listed = 0 where thread_id in (select thread_id from runs where kind = 'call')
      and not exists (select 1 from runs where runs.thread_id = thread_roles.thread_id and runs.kind = 'query'
        and coalesce(runs.role, '') = thread_roles.role)`,
    "drop index thread_roles_by_update",
    "create index thread_roles_by_update on thread_roles (agent_id, role, listed, updated_at, thread_id)",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
