import type { MigratedEngine } from "../row-level-security.ts";

/** Threads, runs, and what is erased with them. */
export function runTables({ rowLevelSecurity }: MigratedEngine): string[] {
  // Postgres locks the row that a foreign key points at: all queries would lock the rows of their organisation and their agent. The
  // ids come from a credential, which refers to both, and neither is ever deleted.
  const [org, agent] = rowLevelSecurity ? ["", ""] : [" references orgs (id)", " references agents (id)"];
  return [
    `create table sessions (
      agent_id text not null${agent},
      id text not null,
      org_id text not null${org},
      created_at bigint not null, last_seen_at bigint not null,
      constraint sessions_key primary key (agent_id, id)
    )`,
    // Threads of direct calls and background tasks are `listed` 0.
    `create table threads (
      id text not null primary key,
      org_id text not null${org},
      agent_id text not null${agent},
      session_id text, title text not null, last_position integer not null,
      created_at bigint not null, updated_at bigint not null, listed integer not null default 1, caller_id text
    )`,
    `create table runs (
      id text not null primary key,
      org_id text not null${org},
      agent_id text not null${agent},
      thread_id text not null references threads (id) on delete cascade,
      position integer not null, session_id text, key_id text not null, request_id text, role text,
      subject text, status text not null, owner text, fence integer not null, lease_until bigint,
      claims integer not null default 0, crashes integer not null default 0,
      last_seq integer not null default 0, manifest_hash text, request text not null,
      cancel_requested integer not null default 0,
      created_at bigint not null, started_at bigint, finished_at bigint, deadline_at bigint not null,
      result text, ending text, history text, history_total bigint, unanswered text,
      remaining_ms bigint, wake_at bigint, waits_since bigint, waited_ms bigint,
      kind text not null default 'query', trace text, left_as text, caller_id text, retry_of text,
      quarantine_group integer, crashed_at bigint,
      constraint runs_thread_position unique (thread_id, position)
    )`,
    ...TABLES,
  ];
}

const TABLES = [
  `create table thread_roles (
    thread_id text not null references threads (id) on delete cascade,
    role text not null, org_id text not null, agent_id text not null, session_id text,
    first_position integer not null, created_at bigint not null, updated_at bigint not null,
    listed integer not null default 1, caller_id text,
    constraint thread_roles_key primary key (thread_id, role)
  )`,
  // The ids that clients have given threads.
  `create table thread_keys (
    agent_id text not null, scope text not null, external_id text not null,
    thread_id text not null references threads (id) on delete cascade,
    org_id text not null, created_at bigint not null,
    constraint thread_keys_key primary key (agent_id, scope, external_id)
  )`,
  // Deferred: a key is inserted before its run, so that two requests with one key wait for each other at the key.
  `create table idempotency_keys (
    agent_id text not null, scope text not null, key text not null, run_id text not null,
    body_hash text not null, created_at bigint not null,
    constraint idempotency_keys_key primary key (agent_id, scope, key),
    constraint idempotency_keys_run foreign key (run_id) references runs (id)
      on delete cascade deferrable initially deferred
  )`,
  // From a run to its reruns. A rerun names its origin itself, also when the origin is deleted.
  `create table reruns (
    run_id text not null primary key references runs (id) on delete cascade,
    origin_id text not null, org_id text not null
  )`,
  `create table run_events (
    run_id text not null references runs (id) on delete cascade,
    seq integer not null, org_id text not null, body text not null, created_at bigint not null,
    constraint run_events_key primary key (run_id, seq)
  )`,
  `create table turns (
    run_id text not null references runs (id) on delete cascade,
    step integer not null, org_id text not null, messages text not null, warnings text not null,
    retries text, input_tokens bigint not null, cached_input_tokens bigint not null,
    cache_write_input_tokens bigint not null default 0, output_tokens bigint not null,
    cost_micros bigint not null, began_at bigint, created_at bigint not null,
    constraint turns_key primary key (run_id, step)
  )`,
  `create table calls (
    id text not null primary key,
    run_id text not null references runs (id) on delete cascade,
    org_id text not null, agent_id text, role text, step integer not null, position integer not null,
    model_call_id text not null, function_name text not null, arguments text not null, instance_id text,
    attempt integer not null, attempts text, accepted_by text, outcome text, arrived text, state text,
    late integer not null default 0, created_at bigint not null, sent_at bigint, finished_at bigint, waited_ms bigint
  )`,
  // Errors of owners' code, apart from the outcomes of their calls: only members see them.
  `create table call_errors (
    run_id text not null references runs (id) on delete cascade,
    call_id text not null, org_id text not null, body text not null,
    constraint call_errors_key primary key (run_id, call_id)
  )`,
  `create table approvals (
    id text not null primary key,
    org_id text not null, agent_id text not null,
    run_id text not null references runs (id) on delete cascade,
    thread_id text not null, call_id text not null, function_name text not null, role text,
    requested_by text not null, arguments text not null, arguments_hash text not null, reason text,
    decides text not null, edit text not null, four_eyes integer not null,
    status text not null, requested_at bigint not null, expires_at bigint not null,
    decided_at bigint, decided_by text, decided_as text, decision_reason text, edited text,
    reported integer not null default 0
  )`,
  // One row for each key or member that rates a run.
  `create table feedback (
    run_id text not null references runs (id) on delete cascade,
    key_id text not null, org_id text not null,
    score double precision, tags text, comment text,
    created_at bigint not null,
    constraint feedback_key primary key (run_id, key_id)
  )`,
];

/**
 * Each index costs every insert a page to write. Many are therefore partial: they hold only the rows that are looked for. Of two that
 * seem to cost the same, Postgres chooses by their order.
 */
export const RUN_INDEXES = [
  "create index sessions_by_use on sessions (last_seen_at)",
  // A query list must not read thousands of direct calls between two queries: hence `listed`.
  "create index threads_by_update on threads (agent_id, listed, updated_at, id)",
  "create index threads_of_caller on threads (agent_id, caller_id, listed, updated_at, id) where caller_id is not null",
  "create index thread_roles_by_update on thread_roles (agent_id, role, listed, updated_at, thread_id)",
  `create index thread_roles_of_caller on thread_roles (agent_id, caller_id, role, listed, updated_at, thread_id)
    where caller_id is not null`,
  "create index thread_keys_by_thread on thread_keys (thread_id)",

  "create index runs_by_manifest on runs (agent_id, manifest_hash)",
  "create index runs_by_session on runs (agent_id, session_id, created_at) where session_id is not null",
  // Open runs are few. No index holds lease_until, so a renewed lease changes no index.
  "create index runs_open on runs (thread_id, status, position) where finished_at is null",
  "create index runs_ended on runs (finished_at) where finished_at is not null",
  // A run that never waits is not in it, and a change of its other columns stays a change in place.
  "create index runs_waiting on runs (wake_at) where wake_at is not null",
  // A run that starts immediately has an owner from the first moment and costs this index nothing. Waiting runs may be many, and each
  // poll reads the runs without an owner.
  `create index runs_unowned on runs (org_id, created_at, id)
    where finished_at is null and owner is null and wake_at is null`,
  `create index runs_by_outcome on runs (org_id, agent_id, created_at, role, status, finished_at, waited_ms)
    where finished_at is not null`,
  "create index runs_left on runs (agent_id, left_as) where left_as is not null",
  // All that the number of an agent's queries reads. Without the organisation, which row-level security compares too, Postgres reads
  // the row of each of them.
  "create index runs_of_agent on runs (agent_id, created_at, org_id)",
  "create index runs_of_caller on runs (agent_id, caller_id, created_at, id) where caller_id is not null",
  "create index runs_retries on runs (retry_of) where retry_of is not null",
  // Without it, a search for an agent's last run without an answer reads all its runs.
  `create index runs_unsuccessful on runs (agent_id, created_at, id, org_id, status)
    where finished_at is not null and status in ('failed', 'cancelled')`,

  "create index idempotency_keys_by_run on idempotency_keys (run_id)",
  "create index idempotency_keys_by_time on idempotency_keys (created_at)",
  "create index reruns_by_origin on reruns (origin_id, run_id)",
  "create index calls_by_run on calls (run_id, step, position)",
  "create index calls_in_trouble on calls (run_id, state) where state = 'failed' or state = 'denied'",
  `create index calls_ended on calls (org_id, agent_id, finished_at, role, function_name, state, created_at, waited_ms)
    where finished_at is not null`,

  "create index approvals_by_run on approvals (run_id)",
  "create index approvals_by_agent on approvals (agent_id, requested_at, id)",
  "create index approvals_by_org on approvals (org_id, requested_at, id)",
  // The inbox and its badge, however many decided approvals there are.
  "create index approvals_pending on approvals (org_id, agent_id, requested_at, id) where status = 'pending'",
  // An organisation's newest feedback with tags, without its other feedback. Ids of runs begin with their time.
  "create index feedback_tagged on feedback (org_id, run_id) where tags is not null",
];
