import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";
import type { Message, Turn } from "./provider.ts";

/** Where the floor stores a query. */
export interface FloorStore {
  begin(query: string): Promise<FloorRun>;
}

interface FloorRun {
  turn(messages: Message[], calls: Turn["calls"]): Promise<unknown>;
  results(results: { id: string; value: unknown }[]): Promise<unknown>;
  /** `messages` are those of the whole run. */
  end(messages: Message[], text: string): Promise<unknown>;
}

/** One transaction at the end of the query. */
export function openFile(file: string): FloorStore {
  const database = new DatabaseSync(file);
  database.exec(
    "pragma journal_mode = wal; pragma synchronous = normal; create table runs (id integer primary key, messages text)",
  );
  const insert = database.prepare("insert into runs (messages) values (?)");
  const run: FloorRun = {
    turn: async () => {},
    results: async () => {},
    end: async (messages) => insert.run(JSON.stringify(messages)),
  };
  return { begin: async () => run };
}

/** Patchbay's tables of a run, without foreign keys, row-level security and most indexes. */
const TABLES = `
  create table threads (id text primary key, title text, created_at bigint, updated_at bigint);
  create table runs (id text primary key, thread_id text, status text, request text, result text,
    created_at bigint, finished_at bigint);
  create table run_events (run_id text, seq integer, body text, created_at bigint, primary key (run_id, seq));
  create table turns (run_id text, step integer, messages text, created_at bigint, primary key (run_id, step));
  create table calls (id text primary key, run_id text, function_name text, arguments text, outcome text,
    created_at bigint, finished_at bigint);
  create table usage (run_id text, step integer, tokens integer, created_at bigint, primary key (run_id, step));
  create table ledger (id text primary key, run_id text, micros bigint, created_at bigint);
  create table audit (id text primary key, run_id text, action text, created_at bigint);
  create index runs_by_time on runs (created_at);
  create index calls_by_run on calls (run_id);
  create index ledger_by_time on ledger (created_at);
  create index audit_by_time on audit (created_at);`;

const BEGIN = `
  with thread as (insert into threads values ($1, $2, $3, $3)),
    run as (insert into runs values ($1, $1, 'running', $2, null, $3, null)),
    audited as (insert into audit values ($1 || '.1', $1, 'run.started', $3))
  insert into run_events values ($1, 1, $2, $3)`;

const TURN = `
  with turn as (insert into turns values ($1, 1, $2, $4)),
    used as (insert into usage values ($1, 1, 220, $4)),
    paid as (insert into ledger values ($1 || '.1', $1, -400, $4)),
    call as (
      insert into calls select $1 || '.' || id, $1, name, arguments, null, $4, null
      from jsonb_to_recordset($3) as asked (id text, name text, arguments text)
    )
  insert into run_events select $1, 1 + place, body, $4
  from jsonb_array_elements($3) with ordinality as asked (body, place)`;

const RESULTS = `
  with results as (
      select body ->> 'id' as id, body ->> 'value' as value, place
      from jsonb_array_elements($2) with ordinality as result (body, place)
    ),
    call as (update calls set outcome = value, finished_at = $3 from results where calls.id = $1 || '.' || results.id),
    audited as (insert into audit select $1 || '.2.' || id, $1, 'call.succeeded', $3 from results)
  insert into run_events select $1, 10 + place, value, $3 from results`;

const END = `
  with turn as (insert into turns values ($1, 2, $2, $4)),
    used as (insert into usage values ($1, 2, 220, $4)),
    paid as (insert into ledger values ($1 || '.2', $1, -400, $4)),
    audited as (insert into audit values ($1 || '.3', $1, 'run.succeeded', $4)),
    run as (update runs set status = 'succeeded', result = $3, finished_at = $4 where id = $1),
    thread as (update threads set updated_at = $4 where id = $1)
  insert into run_events values ($1, 20, $3, $4)`;

/** One prepared statement, which is also one transaction, for each step of a query. */
export async function openPostgres(connectionString: string): Promise<FloorStore> {
  const pool = new Pool({ connectionString, max: 10 });
  await pool.query(TABLES);
  const send = (name: string, text: string, values: unknown[]) =>
    pool.query({ name, text, values: [...values, Date.now()] });
  let last = Date.now() * 1000;
  return {
    async begin(query) {
      const id = `run_${(++last).toString(36)}`;
      await send("begin", BEGIN, [id, query]);
      return {
        turn: (messages, calls) => send("turn", TURN, [id, JSON.stringify(messages), JSON.stringify(calls)]),
        results: (results) => send("results", RESULTS, [id, JSON.stringify(results)]),
        end: (messages, text) => send("end", END, [id, JSON.stringify(messages.at(-1)), text]),
      };
    },
  };
}
