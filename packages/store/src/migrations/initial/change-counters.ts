import type { MigratedEngine } from "../row-level-security.ts";

/** Columns whose change is shown in a list of the console, by table. `agent`: the column with the agent's id. */
const WATCHED = [
  { topic: "agents", table: "agents", agent: "id", columns: "name instructions access_changes settings deleted_at" },
  {
    topic: "credentials",
    table: "credentials",
    agent: "agent_id",
    columns: "roles label expires_at last_used_at revoked_at",
  },
  // Without last_seen_at: a heartbeat does not change a list.
  {
    topic: "runtimes",
    table: "runtimes",
    agent: "agent_id",
    columns: "manifest_hash connection_id connected draining",
  },
  { topic: "members", table: "members", columns: "email name role password_hash removed_at" },
  { topic: "members", table: "sign_in_links", columns: "used_at" },
  { topic: "members", table: "orgs", org: "id", columns: "name" },
];

/**
 * Counts changes per organisation, agent and topic, so that the console's live feed knows which lists changed. Triggers count in
 * the transaction of the change, whatever process makes it. Runs and credits have no counter: it would be one row that all runs of
 * an agent wait for at each step, and their own rows show that they changed.
 */
export const changeTriggers = ({ rowLevelSecurity }: MigratedEngine): string[] =>
  WATCHED.flatMap((watched) => (rowLevelSecurity ? postgresTriggers(watched) : sqliteTriggers(watched)));

interface Watched {
  topic: string;
  table: string;
  org?: string;
  agent?: string;
  columns: string;
}

/** Set-up links belong to no organisation. */
const increment = ({ topic, org = "org_id", agent }: Watched, row: "new" | "old"): string =>
  `insert into change_counters (org_id, agent_id, topic, count)
    select ${row}.${org}, ${agent === undefined ? "''" : `${row}.${agent}`}, '${topic}', 1 where ${row}.${org} is not null
    on conflict (org_id, agent_id, topic) do update set count = change_counters.count + 1`;

const differs = ({ columns }: Watched): string =>
  columns
    .split(" ")
    .map((column) => `old.${column} is distinct from new.${column}`)
    .join(" or ");

function sqliteTriggers(watched: Watched): string[] {
  const { table } = watched;
  return [
    `create trigger ${table}_inserted after insert on ${table} begin ${increment(watched, "new")}; end`,
    `create trigger ${table}_updated after update on ${table} when ${differs(watched)} begin ${increment(watched, "new")}; end`,
    `create trigger ${table}_deleted after delete on ${table} begin ${increment(watched, "old")}; end`,
  ];
}

/**
 * Deferred to the commit: a transaction then takes the counter's row lock last and holds it briefly. Taken at each statement, two
 * transactions that lock the same rows in the same order could still deadlock on the counter.
 */
function postgresTriggers(watched: Watched): string[] {
  const { table } = watched;
  const count = (event: string, row: "new" | "old", when = "") => [
    `create function count_${table}_${event}() returns trigger language plpgsql as
      $$ begin ${increment(watched, row)}; return null; end $$`,
    `create constraint trigger ${table}_${event} after ${event} on ${table} deferrable initially deferred
      for each row ${when} execute function count_${table}_${event}()`,
  ];
  return [
    ...count("insert", "new"),
    ...count("update", "new", `when (${differs(watched)})`),
    ...count("delete", "old"),
  ];
}
