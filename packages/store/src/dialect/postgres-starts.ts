import { sql } from "kysely";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { auditRowOf } from "../audit/audit.ts";
import { sortableId } from "../columns.ts";
import { type Engine, repeat, type StartedInGroup as Started } from "../engine.ts";
import { IDEMPOTENCY_MS } from "../runs/idempotency-keys.ts";
import { statement } from "../statement.ts";
import { entryColumns } from "../tables/audit.ts";
import { acceptedColumns, newRowOf } from "../tables/runs.ts";
import { listed } from "../tables/table.ts";
import { isListed, NO_ROLE, titleOf } from "../threads/thread-roles.ts";
import { grouped } from "@patchbay/database/groups";
import { jsonRows, MOVE_CREDITS } from "@patchbay/database/postgres-rows";

/**
 * Starts runs in groups, as `groupedSteps` stores steps. Returns undefined for a run that the statement did not start:
 * its thread is busy, gone or in use by another transaction, or gets a key, or its run is retried, or its
 * Idempotency-Key is already used. The caller then starts it in a separate transaction.
 */
export function groupedStarts(engine: Engine) {
  const start = grouped<NewRun, Started | undefined>({
    keysOf: ({ agentId, threadId, idempotency }) =>
      idempotency ? [threadId, JSON.stringify([agentId, idempotency.key])] : [threadId],
    charsOf: ({ request }) => request.query.length + request.system.length,
    store: (runs) => startRuns(engine, runs),
    failed: (error) => engine.health.groupFailed("starts", error),
  });
  return (run: NewRun): Promise<Started | undefined> =>
    run.mustWait || run.threadKey || run.retries ? Promise.resolve(undefined) : start(engine.dialect.scope(), run);
}

async function startRuns(engine: Engine, runs: readonly NewRun[]): Promise<(Started | undefined)[]> {
  // In thread order, as in `storeSteps`.
  const sorted = runs.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1));
  const values = {
    starts: jsonRows(sorted.map(startRowOf)),
    audit: jsonRows(
      sorted.flatMap((run) => run.audit.map((entry) => ({ ...auditRowOf({ ...run, ...entry }), of_run: run.runId }))),
    ),
  };
  const rows = await repeat(engine, () => storeStarts(engine, values));
  const started = new Map(rows.map((row) => [row.id, row]));
  return runs.map(({ runId }) => started.get(runId));
}

const startRowOf = (run: NewRun) => ({
  ...newRowOf(run),
  timeout_ms: run.timeoutMs,
  owner: run.owner,
  lease_ms: run.leaseMs,
  new_thread: run.newThread,
  title: run.newThread ? titleOf(run.request) : null,
  listed: isListed(run),
  idempotency_key: run.idempotency?.key,
  body_hash: run.idempotency?.bodyHash,
  ...(run.reserveMicros && { reserve_id: sortableId("led"), reserve_micros: run.reserveMicros }),
});

const ACCEPTED = listed(acceptedColumns.names);

/** Puts the runs that are `allowed` into their threads, as `placed`, and inserts them. */
const PLACE = sql`
continued as (
  update threads set
    last_position = threads.last_position + 1, updated_at = allowed.now,
    session_id = coalesce(allowed.session_id, threads.session_id),
    listed = case when allowed.listed = 1 then 1 else threads.listed end
  from allowed
  where not allowed.new_thread and threads.id = allowed.thread_id and threads.ctid = allowed.version
  returning threads.id as thread_id, threads.last_position as position, threads.caller_id as thread_caller
),
begun as (
  insert into threads (id, org_id, agent_id, session_id, title, listed, caller_id, last_position, created_at, updated_at)
  select thread_id, org_id, agent_id, session_id, title, listed, caller_id, 1, now, now from allowed where new_thread
  returning id as thread_id, last_position as position, caller_id as thread_caller
),
placed as materialized (
  select allowed.*, place.position, place.thread_caller
  from (select * from continued union all select * from begun) as place join allowed using (thread_id)
),
roles as (
  insert into thread_roles (thread_id, role, org_id, agent_id, session_id, first_position, listed, caller_id,
    created_at, updated_at)
  select thread_id, coalesce(role, ${sql.lit(NO_ROLE)}), org_id, agent_id, session_id, position, listed, thread_caller,
    now, now
  from placed
  on conflict (thread_id, role) do update set updated_at = excluded.updated_at,
    session_id = coalesce(excluded.session_id, thread_roles.session_id),
    listed = case when excluded.listed = 1 then 1 else thread_roles.listed end
),
used_sessions as (
  insert into sessions (agent_id, id, org_id, created_at, last_seen_at)
  select distinct agent_id, session_id, org_id, now, now from placed where session_id is not null order by agent_id, session_id
  on conflict (agent_id, id) do update set last_seen_at = excluded.last_seen_at
),
new_runs as (
  insert into runs (${ACCEPTED}, position, status, fence, owner, lease_until, created_at, started_at, deadline_at)
  select ${ACCEPTED}, position, 'running', 1, owner, now + lease_ms, now, now, now + timeout_ms
  from placed
),`;

/**
 * All rows for the runs. An existing thread is used only when it is idle and its row is the version that the statement
 * sees: every run start and end in it updates that row, so it is still idle then. When a key was inserted without its
 * run, its foreign key, checked at the commit, undoes the statement.
 * The range of `timeout_ms` is always true: see `storeRows`.
 */
const storeStarts = statement(
  (p: { starts: string; audit: string }, { dialect }: Engine) => sql<Started & { id: string }>`
with clock as materialized (select ${dialect.now} as now),
starts as materialized (
  select x.*, clock.now from clock, json_to_recordset(cast(${p.starts} as json)) as x(
    ${sql.raw(acceptedColumns.types)}, timeout_ms bigint, owner text, lease_ms bigint, new_thread boolean, title text,
    listed integer, idempotency_key text, body_hash text, reserve_id text, reserve_micros bigint)
  where timeout_ms between 0 and 9007199254740991
),
possible as materialized (
  select starts.*, thread.version
  from starts left join lateral (
    select ctid as version, agent_id from threads where id = starts.thread_id limit 1
  ) as thread on not starts.new_thread
  where starts.new_thread or (thread.agent_id = starts.agent_id and not exists (
    select from runs as other
    where other.thread_id = starts.thread_id and other.finished_at is null
      and other.status in ('queued', 'running', 'waiting')))
),
keys as (
  insert into idempotency_keys (agent_id, scope, key, run_id, body_hash, created_at)
  select agent_id, coalesce((
      select coalesce(credentials.lineage, credentials.id) from credentials where credentials.id = possible.key_id
    ), key_id), idempotency_key, id, body_hash, now
  from possible where idempotency_key is not null
  on conflict (agent_id, scope, key)
    do update set run_id = excluded.run_id, body_hash = excluded.body_hash, created_at = excluded.created_at
    where idempotency_keys.created_at <= excluded.created_at - ${sql.lit(IDEMPOTENCY_MS)}
  returning run_id
),
allowed as materialized (
  select possible.* from possible left join keys on keys.run_id = possible.id
  where possible.idempotency_key is null or keys.run_id is not null
),
${PLACE}
new_audit as (
  insert into audit (${listed(entryColumns.names)}, created_at)
  select ${listed(entryColumns.names, "x")}, placed.now
  from json_to_recordset(cast(${p.audit} as json)) as x(of_run text, ${sql.raw(entryColumns.types)})
  join placed on placed.id = x.of_run
),
wanted as materialized (
  select org_id, id as run_id, 0 as step, reserve_id as entry, reserve_micros as micros, now,
    sum(reserve_micros) over (partition by org_id order by id) as up_to
  from placed where reserve_id is not null
),
moved as materialized (select org_id, run_id, step, entry, 'reserve' as kind, micros, now from wanted where false),
${MOVE_CREDITS}
select placed.id, placed.now as created_at, placed.now + timeout_ms as deadline_at,
  coalesce(granted.micros, 0) as reserved
from placed left join granted on granted.run_id = placed.id`,
);
