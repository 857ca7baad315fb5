import { type Kysely, sql } from "kysely";

/**
 * The tables of the first release, in SQL that SQLite and Postgres both accept. `schema.ts` explains the columns.
 * `rowLevelSecurity`: also let the database separate organisations, which only Postgres can.
 */
export async function initialSchema(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  for (const statement of [...TABLES, ...INDEXES]) await sql.raw(statement).execute(db);
  if (rowLevelSecurity) for (const [table, org] of ORG_OF_TABLE) await separateOrganisations(db, table, org);
}

const ACCOUNTS = [
  `create table orgs (
    id text not null primary key,
    name text not null, tier text not null, balance_micros bigint not null default 0,
    created_at bigint not null
  )`,
  `create table agents (
    id text not null primary key,
    org_id text not null references orgs (id),
    name text not null, instructions text not null, access_changes text not null default 'follow',
    settings text not null default '{}', last_set_position integer not null default 0,
    created_at bigint not null, deleted_at bigint
  )`,
  `create table credentials (
    id text not null primary key,
    kind text not null,
    org_id text not null references orgs (id),
    agent_id text not null references agents (id),
    hash text not null unique, hint text not null, roles text, label text, lineage text,
    created_at bigint not null, expires_at bigint, last_used_at bigint, revoked_at bigint
  )`,
  `create table members (
    id text not null primary key,
    org_id text not null references orgs (id),
    email text, name text not null, role text not null, password_hash text,
    created_at bigint not null, last_seen_at bigint, removed_at bigint
  )`,
  `create table console_sessions (
    hash text not null primary key,
    org_id text not null,
    member_id text not null references members (id) on delete cascade,
    created_at bigint not null, last_seen_at bigint not null, confirmed_until bigint not null,
    expires_at bigint not null
  )`,
  `create table sign_in_links (
    hash text not null primary key,
    kind text not null,
    org_id text references orgs (id),
    member_id text references members (id) on delete cascade,
    created_by text references members (id) on delete cascade,
    created_at bigint not null, expires_at bigint not null, used_at bigint
  )`,
];

const CONVERSATIONS = [
  `create table sessions (
    agent_id text not null references agents (id),
    id text not null,
    org_id text not null references orgs (id),
    created_at bigint not null, last_seen_at bigint not null,
    constraint sessions_key primary key (agent_id, id)
  )`,
  `create table threads (
    id text not null primary key,
    org_id text not null references orgs (id),
    agent_id text not null references agents (id),
    session_id text, title text not null, last_position integer not null,
    created_at bigint not null, updated_at bigint not null
  )`,
  `create table thread_roles (
    thread_id text not null references threads (id) on delete cascade,
    role text not null, org_id text not null, agent_id text not null, session_id text,
    first_position integer not null, created_at bigint not null, updated_at bigint not null,
    constraint thread_roles_key primary key (thread_id, role)
  )`,
  `create table runs (
    id text not null primary key,
    org_id text not null references orgs (id),
    agent_id text not null references agents (id),
    thread_id text not null references threads (id) on delete cascade,
    position integer not null, session_id text, key_id text not null, request_id text, role text,
    subject text, status text not null, owner text, fence integer not null, lease_until bigint,
    claims integer not null default 0, crashes integer not null default 0,
    last_seq integer not null default 0, manifest_hash text, request text not null,
    cancel_requested integer not null default 0,
    created_at bigint not null, started_at bigint, finished_at bigint, deadline_at bigint not null,
    result text, ending text, history text, history_total bigint, unanswered text,
    constraint runs_thread_position unique (thread_id, position)
  )`,
  // Deferred: a key is inserted before its run, so that two requests with one key wait for each other at the key.
  `create table idempotency_keys (
    agent_id text not null, scope text not null, key text not null, run_id text not null,
    body_hash text not null, created_at bigint not null,
    constraint idempotency_keys_key primary key (agent_id, scope, key),
    constraint idempotency_keys_run foreign key (run_id) references runs (id)
      on delete cascade deferrable initially deferred
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
    late integer not null default 0, created_at bigint not null, sent_at bigint, finished_at bigint
  )`,
];

const RUNTIMES = [
  `create table manifests (
    agent_id text not null references agents (id),
    hash text not null, org_id text not null, body text not null,
    created_at bigint not null, first_seen_at bigint not null,
    constraint manifests_key primary key (agent_id, hash)
  )`,
  `create table function_sets (
    agent_id text not null references agents (id),
    service text not null, deployment text not null, named integer not null,
    manifest_hash text not null, org_id text not null, place integer not null,
    position integer not null, first_seen_at bigint not null, replaces text, widenings text not null,
    confirmation text not null, confirmed_by text, confirmed_at bigint,
    constraint function_sets_key primary key (agent_id, service, named, deployment, manifest_hash)
  )`,
  `create table runtimes (
    agent_id text not null references agents (id),
    instance_id text not null, org_id text not null, manifest_hash text not null,
    service text not null, deployment text, sdk text, connected integer not null,
    connection_id text not null, replica_id text not null, concurrency integer not null, draining integer not null default 0,
    opened_at bigint not null, first_seen_at bigint not null, last_seen_at bigint not null,
    constraint runtimes_key primary key (agent_id, instance_id)
  )`,
];

/** They do not refer to runs, because they outlive them. */
const RECORDS = [
  `create table rate_windows (
    org_id text not null references orgs (id),
    window_start bigint not null, count integer not null,
    constraint rate_windows_key primary key (org_id, window_start)
  )`,
  `create table usage (
    run_id text not null, step integer not null,
    org_id text not null references orgs (id),
    agent_id text not null, role text, provider text not null, model text not null,
    turns integer not null default 1, input_tokens bigint not null, cached_input_tokens bigint not null,
    cache_write_input_tokens bigint not null default 0, output_tokens bigint not null,
    cost_micros bigint not null, created_at bigint not null,
    constraint usage_key primary key (run_id, step)
  )`,
  `create table ledger (
    id text not null primary key,
    org_id text not null references orgs (id),
    run_id text, step integer, kind text not null, micros bigint not null, created_at bigint not null,
    constraint ledger_once unique (run_id, step, kind)
  )`,
  `create table audit (
    id text not null primary key,
    org_id text not null references orgs (id),
    agent_id text, run_id text, call_id text, action text not null, role text, key_id text,
    function_name text, rule text, manifest_hash text, detail text, created_at bigint not null
  )`,
];

const TABLES = [...ACCOUNTS, ...CONVERSATIONS, ...RUNTIMES, ...RECORDS];

/** Each index costs every insert a page to write. Many are therefore partial: they hold only the rows that are looked for. */
const INDEXES = [
  "create index agents_by_org on agents (org_id, created_at)",
  "create index credentials_by_agent on credentials (agent_id, kind, created_at)",

  "create index members_by_org on members (org_id, created_at, id)",
  // The address of a removed member can be invited again.
  "create unique index members_by_address on members (org_id, email) where removed_at is null",
  // An invitation that was never accepted must not keep its address from joining another organisation.
  `create unique index members_signing_in on members (email)
    where removed_at is null and password_hash is not null`,
  "create index console_sessions_by_member on console_sessions (member_id)",
  "create index sign_in_links_by_member on sign_in_links (member_id)",
  "create index sign_in_links_by_author on sign_in_links (created_by)",
  // Replicas that start at the same time make one set-up link, not one each.
  "create unique index sign_in_links_one_setup on sign_in_links (kind) where kind = 'setup' and used_at is null",

  "create index sessions_by_use on sessions (last_seen_at)",
  "create index threads_by_update on threads (agent_id, updated_at, id)",
  "create index thread_roles_by_update on thread_roles (agent_id, role, updated_at, thread_id)",

  "create index runs_by_agent on runs (agent_id, created_at)",
  "create index runs_by_manifest on runs (agent_id, manifest_hash)",
  "create index runs_by_session on runs (agent_id, session_id, created_at) where session_id is not null",
  // Open runs are few. No index holds lease_until, so a renewed lease changes no index.
  "create index runs_open on runs (thread_id, status, position) where finished_at is null",
  // A run that starts immediately has an owner from the first moment and costs this index nothing.
  "create index runs_unowned on runs (org_id, created_at, id) where finished_at is null and owner is null",
  "create index runs_ended on runs (finished_at) where finished_at is not null",
  `create index runs_by_outcome on runs (org_id, agent_id, created_at, role, status, finished_at)
    where finished_at is not null`,
  "create index idempotency_keys_by_run on idempotency_keys (run_id)",
  "create index idempotency_keys_by_time on idempotency_keys (created_at)",
  "create index calls_by_run on calls (run_id, step, position)",
  `create index calls_ended on calls (org_id, agent_id, finished_at, role, function_name, state, created_at)
    where finished_at is not null`,
  "create index calls_in_trouble on calls (run_id, state) where state = 'failed' or state = 'denied'",
  "create index runtimes_by_connection on runtimes (connection_id)",

  "create index usage_by_agent on usage (org_id, agent_id, created_at)",
  "create index ledger_by_time on ledger (org_id, created_at)",
  "create index ledger_unusual on ledger (org_id, created_at) where kind in ('grant', 'release')",
  "create index audit_by_agent on audit (agent_id, created_at)",
  "create index audit_by_run on audit (run_id, created_at)",
  "create index audit_by_manifest on audit (agent_id, manifest_hash) where manifest_hash is not null",
  "create index audit_by_time on audit (org_id, created_at)",
  "create index audit_of_org on audit (org_id, created_at) where run_id is null",
  `create index audit_unusual on audit (org_id, created_at)
    where action not in ('run.started', 'run.succeeded', 'call.succeeded')`,
];

const BY_ORG_ID =
  "agents credentials members console_sessions sign_in_links sessions threads thread_roles runs run_events turns calls manifests function_sets runtimes rate_windows usage ledger audit".split(
    " ",
  );
const OWN_ORG = sql`org_id`;
/** Each table with the expression for a row's organisation. */
const ORG_OF_TABLE: [table: string, org: typeof OWN_ORG][] = [
  ["orgs", sql`id`],
  ["idempotency_keys", sql`(select agents.org_id from agents where agents.id = idempotency_keys.agent_id)`],
  ...BY_ORG_ID.map((table): [string, typeof OWN_ORG] => [table, OWN_ORG]),
];

const CURRENT_ORG = sql`(select current_setting('patchbay.org', true))`;

/**
 * Shows and writes a row only when the connection's `patchbay.org` is its organisation, or `*` for all. A connection that has
 * not set it sees nothing. A query that forgets its `where org_id` so cannot reach other organisations. `force` binds the
 * tables' owner too; superusers are never bound.
 */
export async function separateOrganisations(db: Kysely<unknown>, name: string, org: typeof OWN_ORG): Promise<void> {
  const table = sql.table(name);
  await sql`alter table ${table} enable row level security`.execute(db);
  await sql`alter table ${table} force row level security`.execute(db);
  await sql`create policy one_organisation on ${table} using (${CURRENT_ORG} = '*' or ${CURRENT_ORG} = ${org})`.execute(
    db,
  );
}
