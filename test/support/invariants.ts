import { expect } from "vitest";
import { readDatabase } from "./processes.ts";

interface RunRow {
  id: string;
  status: string;
  last_seq: number;
  result: string | null;
  history: string | null;
}

interface Told {
  type: string;
  toolCallId?: string;
  [member: string]: unknown;
}

const TERMINAL = new Set(["finalResponse", "error"]);

/**
 * Holds a database whose runs are all over to what is promised of every run, whatever happened to it. Returns what it saw, so
 * that a test can tell that there was something to see.
 */
export function expectSoundRuns(databaseFile: string) {
  using database = readDatabase(databaseFile);
  const { rows } = database;
  const runs = rows<RunRow>("select * from runs");
  const events = Map.groupBy(
    rows<{ run_id: string; seq: number; body: string }>(
      "select run_id, seq, body from run_events order by run_id, seq",
    ),
    (event) => event.run_id,
  );
  const calls = Map.groupBy(
    rows<{ id: string; run_id: string; outcome: string | null }>("select id, run_id, outcome from calls"),
    (call) => call.run_id,
  );

  for (const run of runs) {
    const told = events.get(run.id) ?? [];
    expect(["succeeded", "failed", "cancelled"], run.id).toContain(run.status);
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, index) => index + 1));
    expect(run.last_seq).toBe(told.length);
    const bodies = told.map(({ body }) => JSON.parse(body) as Told);
    expect(bodies.flatMap(({ type }, index) => (TERMINAL.has(type) ? [index] : []))).toEqual([told.length - 1]);
    expect(bodies.at(-1)?.type).toBe(run.status === "succeeded" ? "finalResponse" : "error");
    expectToldOnce(bodies, calls.get(run.id) ?? []);
  }
  expectPaid(rows);
  return { runs: runs.length, succeeded: runs.filter(({ status }) => status === "succeeded").length };
}

/** Each call that has an outcome was told as called and as ended, once and in this order. */
function expectToldOnce(bodies: Told[], calls: { id: string; outcome: string | null }[]): void {
  const told = (type: string) =>
    counts(bodies.flatMap((body) => (body.type === type ? [String(body.toolCallId)] : [])));
  expect(told("toolCall")).toEqual(counts(calls.map(({ id }) => id)));
  expect(told("toolResult")).toEqual(counts(calls.flatMap(({ id, outcome }) => (outcome === null ? [] : [id]))));
}

function counts(ids: string[]): Map<string, number> {
  const counted = new Map<string, number>();
  for (const id of ids) counted.set(id, (counted.get(id) ?? 0) + 1);
  return counted;
}

/** One usage row for each step of each run, the ledger adds up to the balance, and no hold is left open. */
function expectPaid(rows: <Row>(sql: string) => Row[]): void {
  expect(rows("select run_id, step from turns except select run_id, step from usage")).toEqual([]);
  expect(rows("select run_id, step from usage except select run_id, step from turns")).toEqual([]);
  expect(rows("select run_id from usage group by run_id having count(*) <> max(step) + 1")).toEqual([]);
  const off = `select id from orgs where balance_micros < 0
    or balance_micros <> (select coalesce(sum(micros), 0) from ledger where org_id = orgs.id)`;
  expect(rows(off)).toEqual([]);
  const open = `select run_id, step from ledger where kind = 'hold'
    except select run_id, step from ledger where kind in ('settle', 'release')`;
  expect(rows(open)).toEqual([]);
}
