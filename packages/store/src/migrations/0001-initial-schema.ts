import { type Kysely, sql } from "kysely";
import { ACCOUNT_INDEXES, ACCOUNT_TABLES } from "./initial/account-tables.ts";
import { changeTriggers } from "./initial/change-counters.ts";
import { RECORD_INDEXES, recordTables } from "./initial/record-tables.ts";
import { RUN_INDEXES, runTables } from "./initial/run-tables.ts";
import { RUNTIME_INDEXES, RUNTIME_TABLES } from "./initial/runtime-tables.ts";
import { type MigratedEngine, NO_ORG, runStatements, separateOrganisations } from "./row-level-security.ts";

/**
 * All tables of a new database, in SQL that SQLite and Postgres both accept. `schema.ts` explains the columns. A new column follows
 * in a later migration.
 */
export async function initialSchema(db: Kysely<unknown>, engine: MigratedEngine): Promise<void> {
  const { rowLevelSecurity } = engine;
  await runStatements(db, [
    ...ACCOUNT_TABLES,
    ...runTables(engine),
    ...RUNTIME_TABLES,
    ...recordTables(engine),
    ...ACCOUNT_INDEXES,
    ...RUN_INDEXES,
    ...RUNTIME_INDEXES,
    ...RECORD_INDEXES,
    ...changeTriggers(engine),
    ...(rowLevelSecurity ? POSTGRES_STORAGE : SQLITE_FULL_TEXT),
  ]);
  if (!rowLevelSecurity) return;
  for (const table of BY_ORG_ID) await separateOrganisations(db, table);
  for (const table of ["service", "served", "upkeep"]) await separateOrganisations(db, table, NO_ORG);
  await separateOrganisations(db, "orgs", sql`id`);
  await separateOrganisations(db, "idempotency_keys", ORG_OF_KEY);
  await sql`create policy read_by_all on upkeep for select using (true)`.execute(db);
}

const ORG_OF_KEY = sql`(select agents.org_id from agents where agents.id = idempotency_keys.agent_id)`;

const BY_ORG_ID =
  `agents credentials members console_sessions sign_in_links sessions threads thread_roles runs run_events turns
  calls manifests function_sets runtimes rate_windows usage ledger audit change_counters balances call_errors reruns run_facts
  run_texts approvals run_views feedback permits webhooks webhook_deliveries shadows shadow_changes audit_chains audit_seals
  audit_use audit_heads thread_keys client_tokens service_tokens first_start request_keys`.split(/\s+/);

const POSTGRES_STORAGE = [
  // The free space of its pages takes new versions of a row: no index changes, and Postgres removes old versions without a vacuum.
  "alter table balances set (fillfactor = 10)",
  // Steps update the row of their run: a new version in the same page needs no new entries in the indexes.
  "alter table runs set (fillfactor = 60)",
  // Short rows stay in the table itself, where Postgres reads them in sequence. No GIN index: row-level security keeps Postgres
  // from using it, as the operator @@ could reveal hidden rows.
  "alter table run_texts alter column words set storage main",
];

/**
 * `secure-delete`: the words of an erased run leave the index at once, not when it is next merged. Words hold no ASCII signs, so
 * this tokenizer never divides them, as one with another version of Unicode could.
 */
const SQLITE_FULL_TEXT = [
  "create virtual table run_words using fts5 (words, content='run_texts', content_rowid='id', detail='none', tokenize='ascii')",
  "insert into run_words (run_words, rank) values ('secure-delete', 1)",
  `create trigger run_texts_inserted after insert on run_texts begin
    insert into run_words (rowid, words) values (new.id, new.words); end`,
  `create trigger run_texts_deleted after delete on run_texts begin
    insert into run_words (run_words, rowid, words) values ('delete', old.id, old.words); end`,
];
