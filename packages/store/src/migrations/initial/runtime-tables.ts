export const RUNTIME_TABLES = [
  // `reported_cases` and `access_lock`: as the newest runtime with the function set reported them, the latter since `lock_since`.
  `create table manifests (
    agent_id text not null references agents (id),
    hash text not null, org_id text not null, body text not null,
    created_at bigint not null, first_seen_at bigint not null, reported_cases text, access_lock text, lock_since bigint,
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
    opened_at bigint not null, first_seen_at bigint not null, last_seen_at bigint not null, host text,
    constraint runtimes_key primary key (agent_id, instance_id)
  )`,
  // Calls of functions with `concurrency` that run or wait. Each change locks the function's row with an empty `call_id`, so that two
  // replicas cannot both give the last permit away.
  `create table permits (
    agent_id text not null references agents (id) on delete cascade,
    function_name text not null, call_id text not null, start integer not null, org_id text not null,
    granted integer not null, queued_at bigint not null, expires_at bigint not null,
    constraint permits_key primary key (agent_id, function_name, call_id, start)
  )`,
  // The candidate that an agent's ended calls are compared with, and the differences. The row of an agent is also the lease of the
  // replica that asks the candidate, so that each call is asked about once.
  `create table shadows (
    agent_id text not null primary key references agents (id) on delete cascade,
    org_id text not null, service text not null, manifest_hash text not null,
    connection_id text not null, lease_until bigint not null, since bigint not null,
    position_at bigint not null, position_id text not null,
    judged bigint not null, dropped bigint not null, unanswered bigint not null
  )`,
  `create table shadow_changes (
    agent_id text not null references shadows (agent_id) on delete cascade,
    function_name text not null, role text not null, was text not null, decision text not null,
    org_id text not null, calls bigint not null, examples text not null, last_at bigint not null,
    constraint shadow_changes_key primary key (agent_id, function_name, role, was, decision)
  )`,
  // One row: when a replica last served the database, since when without a gap, and when that gap began.
  `create table served (
    id integer not null primary key check (id = 1),
    last_at bigint not null, since bigint not null, gap_from bigint
  )`,
  // A row for each background work that one replica does for all, with the replica and until when it may be trusted to do it.
  // `reached`: for the index of runs, the time before which no ended run misses anything. All organisations may read the rows, as an
  // answer to an organisation says until when it is complete.
  `create table upkeep (
    name text not null primary key, owner text not null, until bigint not null, reached bigint
  )`,
];

export const RUNTIME_INDEXES = ["create index runtimes_by_connection on runtimes (connection_id)"];
