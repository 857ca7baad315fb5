import { expect } from "vitest";
import { readDatabase } from "./processes.ts";

interface RunRow {
  id: string;
  status: string;
  last_seq: number;
  result: string | null;
  history: string | null;
}

interface LoggedEvent {
  type: string;
  toolCallId?: string;
  [property: string]: unknown;
}

const TERMINAL = new Set(["finalResponse", "error"]);

/**
 * Checks the invariants of all runs of a database after every run has ended. Returns the numbers of runs, so that a test can
 * check that there were any.
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
    const log = events.get(run.id) ?? [];
    expect(["succeeded", "failed", "cancelled"], run.id).toContain(run.status);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(run.last_seq).toBe(log.length);
    const bodies = log.map(({ body }) => JSON.parse(body) as LoggedEvent);
    expect(bodies.flatMap(({ type }, index) => (TERMINAL.has(type) ? [index] : []))).toEqual([log.length - 1]);
    expect(bodies.at(-1)?.type).toBe(run.status === "succeeded" ? "finalResponse" : "error");
    expectLoggedOnce(bodies, calls.get(run.id) ?? []);
  }
  expectCharged(rows);
  return { runs: runs.length, succeeded: runs.filter(({ status }) => status === "succeeded").length };
}

/** The log of a call with an outcome has one toolCall and one toolResult, in this order. */
function expectLoggedOnce(bodies: LoggedEvent[], calls: { id: string; outcome: string | null }[]): void {
  const logged = (type: string) =>
    counts(bodies.flatMap((body) => (body.type === type ? [String(body.toolCallId)] : [])));
  expect(logged("toolCall")).toEqual(counts(calls.map(({ id }) => id)));
  expect(logged("toolResult")).toEqual(counts(calls.flatMap(({ id, outcome }) => (outcome === null ? [] : [id]))));
}

function counts(ids: string[]): Map<string, number> {
  const counted = new Map<string, number>();
  for (const id of ids) counted.set(id, (counted.get(id) ?? 0) + 1);
  return counted;
}

/** Each turn has one usage row, each balance equals the sum of its ledger, and no reservation is open. */
function expectCharged(rows: <Row>(sql: string) => Row[]): void {
  expect(rows("select run_id, step from turns except select run_id, step from usage")).toEqual([]);
  expect(rows("select run_id, step from usage except select run_id, step from turns")).toEqual([]);
  expect(rows("select run_id from usage group by run_id having count(*) <> max(step) + 1")).toEqual([]);
  const off = `select id from orgs left join balances on org_id = id
    where micros < 0 or coalesce(micros, 0) <> (select coalesce(sum(micros), 0) from ledger where org_id = orgs.id)`;
  expect(rows(off)).toEqual([]);
  const open = `select run_id, step from ledger where kind = 'reserve'
    except select run_id, step from ledger where kind in ('settle', 'release')`;
  expect(rows(open)).toEqual([]);
}

/** Stops a runtime that keeps no result: `stop()` would wait for its acknowledgement, here for longer than a test may take. */
export async function expectNothingKept(runtime: {
  stop: (options: { drainMs: number }) => Promise<void>;
}): Promise<void> {
  await runtime.stop({ drainMs: 3_600_000 });
}
