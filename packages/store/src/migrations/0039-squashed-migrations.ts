import { type Kysely, sql } from "kysely";
import { type MigratedEngine, NO_ORG, runStatements, separateOrganisations } from "./row-level-security.ts";

/** The last migrations of the two versions whose databases this one continues. */
export const LAST_RELEASED = "0030-feedback-tags";
export const LAST_SEPARATE = "0038-upkeep";

/**
 * The bridge over the migrations that were squashed into the initial schema: brings a database after `LAST_RELEASED` to it, and
 * leaves a new one, or one after `LAST_SEPARATE`, as it is. Tables of runs come last, so that replicas of the earlier version wait for
 * them as short as possible.
 */
export async function squashedMigrations(db: Kysely<unknown>, engine: MigratedEngine): Promise<void> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration
    where name in (${LAST_RELEASED}, ${LAST_SEPARATE})`.execute(db);
  if (rows.length === 1) {
    await addTables(db, engine);
    await runStatements(db, ADDED_COLUMNS);
    await recordDeletions(db, engine);
    await runStatements(db, changesOfRuns(engine));
  }
  await sql`delete from kysely_migration where name > '0002' and name < '0039'`.execute(db);
}

async function addTables(db: Kysely<unknown>, { rowLevelSecurity }: MigratedEngine): Promise<void> {
  await runStatements(db, ADDED_TABLES);
  if (!rowLevelSecurity) return;
  for (const table of ["audit_heads", "request_keys"]) await separateOrganisations(db, table);
  for (const table of ["served", "upkeep"]) await separateOrganisations(db, table, NO_ORG);
  await sql`create policy read_by_all on upkeep for select using (true)`.execute(db);
}

const ADDED_TABLES = [
  "create table audit_heads (org_id text not null primary key, day bigint not null, seq bigint not null, head text not null)",
  `create table request_keys (
    org_id text not null, actor_id text not null, key text not null, body_hash text not null, answer text,
    created_at bigint not null,
    constraint request_keys_key primary key (org_id, actor_id, key)
  )`,
  "create table upkeep (name text not null primary key, owner text not null, until bigint not null, reached bigint)",
  `create table served (
    id integer not null primary key check (id = 1), last_at bigint not null, since bigint not null, gap_from bigint
  )`,
  // The earlier version served the database at least until it last renewed a runtime.
  `insert into served (id, last_at, since)
    select 1, last_at, last_at from (select max(last_seen_at) as last_at from runtimes) seen where last_at is not null`,
];

const ADDED_COLUMNS = [
  "alter table credentials add column created_by text",
  "alter table service_tokens add column lineage text",
  // Null for tokens of the earlier version, which end within an hour.
  "alter table client_tokens add column allow text",
  "alter table client_tokens add column reasoning integer",
];

/**
 * An entry about the deletions from the audit log before: from now on, each deletion by age has one. A replica of the earlier version
 * that deletes until it is replaced leaves none, which a check reports until the next deletion.
 */
async function recordDeletions(db: Kysely<unknown>, { rowLevelSecurity }: MigratedEngine): Promise<void> {
  const now = rowLevelSecurity
    ? sql<number>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
  const { rows } =
    await sql<Chain>`select org_id, to_at, base_seq, base_head, base_at, base_id, base_entries, ${now} as now
    from audit_chains where base_seq > 0`.execute(db);
  for (const { org_id, to_at, base_seq, base_head, base_at, base_id, base_entries, now } of rows) {
    const detail = {
      entries: base_entries,
      until: new Date(base_at).toISOString(),
      seq: base_seq,
      head: base_head,
      id: base_id,
      total: base_entries,
    };
    // After all sealed entries: a seal covers what is after the one before.
    const at = Math.max(now, to_at + 1);
    await sql`insert into audit (id, org_id, action, detail, created_at)
      values (${`aud_deleted_${org_id}`}, ${org_id}, 'audit.deleted', ${JSON.stringify(detail)}, ${at})`.execute(db);
  }
}

interface Chain {
  org_id: string;
  to_at: number;
  base_seq: number;
  base_head: string;
  base_at: number;
  base_id: string;
  base_entries: number;
  now: number;
}

/** Before the `sub` of a run's proven caller in the subject of the run. In the texts before it, quotes are escaped. */
const SUB = '"caller":';

/**
 * Runs and threads get their proven callers: a run whose caller was stored without its issuer gets the id of the `sub`. Of a run
 * that was refused before its subject was known, the thread is that of the next one. Facts of earlier runs say nothing of writes.
 */
function changesOfRuns({ rowLevelSecurity }: MigratedEngine): string[] {
  const at = `${rowLevelSecurity ? "strpos" : "instr"}(subject, '${SUB}') + ${SUB.length}`;
  return [
    "alter table run_facts add column after_writes integer",
    ...["runs", "threads", "thread_roles"].map((table) => `alter table ${table} add column caller_id text`),
    "alter table runs add column retry_of text",
    "alter table runs add column quarantine_group integer",
    "alter table runs add column crashed_at bigint",
    // The subject is {"services":TEXT,"caller":SUB} or {"caller":SUB} for proven callers only; others have an array.
    `update runs set caller_id = '[null,' || substr(subject, ${at}, length(subject) - (${at})) || ']' where subject like '{%'`,
    `update threads set caller_id = (
        select first.caller_id from runs as first
        where first.thread_id = threads.id and (first.subject is not null or first.fence > 0)
        order by first.position limit 1)
      where id in (select thread_id from runs where caller_id is not null)`,
    `update thread_roles set caller_id = (select caller_id from threads where threads.id = thread_roles.thread_id)
      where thread_id in (select id from threads where caller_id is not null)`,
    "create index runs_of_caller on runs (agent_id, caller_id, created_at, id) where caller_id is not null",
    "create index threads_of_caller on threads (agent_id, caller_id, listed, updated_at, id) where caller_id is not null",
    `create index thread_roles_of_caller on thread_roles (agent_id, caller_id, role, listed, updated_at, thread_id)
      where caller_id is not null`,
    "create index runs_retries on runs (retry_of) where retry_of is not null",
    `create index runs_unsuccessful on runs (agent_id, created_at, id, org_id, status)
      where finished_at is not null and status in ('failed', 'cancelled')`,
  ];
}
