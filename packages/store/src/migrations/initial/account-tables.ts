export const ACCOUNT_TABLES = [
  `create table orgs (
    id text not null primary key,
    name text not null, tier text not null, created_at bigint not null
  )`,
  // All runs of an organisation update its balance, and Postgres keeps old versions of a row until a vacuum: in `orgs`, each read of
  // the organisation would walk them. No foreign key points at this table. An organisation without a row has no credit.
  `create table balances (
    org_id text not null primary key references orgs (id),
    micros bigint not null check (micros >= 0)
  )`,
  `create table agents (
    id text not null primary key,
    org_id text not null references orgs (id),
    name text not null, instructions text not null, access_changes text not null default 'follow',
    settings text not null default '{}', last_set_position integer not null default 0,
    created_at bigint not null, deleted_at bigint
  )`,
  // `created_by`: null for keys that commands made.
  `create table credentials (
    id text not null primary key,
    kind text not null,
    org_id text not null references orgs (id),
    agent_id text not null references agents (id),
    hash text not null unique, hint text not null, roles text, label text, lineage text,
    created_at bigint not null, expires_at bigint, last_used_at bigint, revoked_at bigint, can text, created_by text
  )`,
  // Tokens that pages hold. They live for an hour at most, and are deleted after that.
  `create table client_tokens (
    id text not null primary key,
    org_id text not null,
    key_id text not null references credentials (id) on delete cascade,
    hash text not null,
    role text not null, context text not null, thread_key text, proven text,
    created_at bigint not null, expires_at bigint not null, allow text, reasoning integer
  )`,
  // With which programs manage an organisation. `lineage`: which rotation replaced it.
  `create table service_tokens (
    id text not null primary key,
    org_id text not null references orgs (id),
    hash text not null unique, hint text not null, scopes text not null, label text, created_by text,
    created_at bigint not null, expires_at bigint, last_used_at bigint, revoked_at bigint, lineage text
  )`,
  "create table first_start (name text not null primary key, org_id text not null, value text not null)",
  // One row, of no organisation.
  "create table service (id integer not null primary key check (id = 1), address text not null)",
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
    created_at bigint not null, expires_at bigint not null, used_at bigint, created_by_token text
  )`,
  // The Idempotency-Keys of the console's API, with the answers to their requests. They live for a day.
  `create table request_keys (
    org_id text not null, actor_id text not null, key text not null, body_hash text not null, answer text,
    created_at bigint not null,
    constraint request_keys_key primary key (org_id, actor_id, key)
  )`,
  // Saved lists of runs. There are few, so one index serves lists and deletions.
  `create table run_views (
    id text not null primary key,
    org_id text not null, agent_id text not null, member_id text not null, name text not null,
    shared integer not null, search text not null, created_at bigint not null
  )`,
  `create table webhooks (
    agent_id text not null primary key references agents (id) on delete cascade,
    org_id text not null,
    url text not null, secret text not null,
    previous_secret text, previous_until bigint,
    created_at bigint not null, updated_at bigint not null
  )`,
  // A delivery does not end with its run: it has the run's ids only. A receiver that was down learns of the end of an erased run too.
  `create table webhook_deliveries (
    id text not null primary key,
    org_id text not null,
    agent_id text not null references agents (id) on delete cascade,
    type text not null, data text not null,
    status text not null, attempts integer not null, attempts_left integer not null,
    created_at bigint not null, queued_at bigint not null, next_attempt_at bigint,
    last_attempt_at bigint, last_status integer, last_error text, last_duration_ms bigint
  )`,
];

export const ACCOUNT_INDEXES = [
  "create index agents_by_org on agents (org_id, created_at)",
  "create index credentials_by_agent on credentials (agent_id, kind, created_at)",
  "create unique index client_tokens_by_hash on client_tokens (hash)",
  "create index client_tokens_by_key on client_tokens (key_id)",
  "create index client_tokens_by_expiry on client_tokens (expires_at)",
  "create index service_tokens_by_org on service_tokens (org_id, created_at, id)",

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
  "create index run_views_by_agent on run_views (agent_id, created_at, id)",
  "create index webhook_deliveries_by_agent on webhook_deliveries (agent_id, created_at, id)",
  "create index webhook_deliveries_due on webhook_deliveries (agent_id, next_attempt_at) where status = 'pending'",
];
