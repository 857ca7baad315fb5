import type { Tables } from "./database.ts";
import type { FunctionNote, Noted } from "./history.ts";
import type { Lab } from "./lab.ts";

/** The data of all checks. */
export interface Evidence {
  tables: Tables;
  notes: readonly FunctionNote[];
  noted: readonly Noted[];
  lab: Lab;
}

interface RunRow {
  id: string;
  thread_id: string;
  position: number;
  status: string;
  last_seq: number;
  started_at: number | null;
  finished_at: number | null;
  deadline_at: number;
  result: string | null;
}

interface EventRow {
  run_id: string;
  seq: number;
  body: string;
}

const OVER = new Set(["succeeded", "failed", "cancelled"]);
const TERMINAL = /^\{"type":"(finalResponse|error)"/;
/** A run may end this long after its deadline. */
const LATE_MS = 20_000;

/** Logs are complete and end once, clients received nothing else, and a thread has one run at a time. */
export async function runFaults({ tables, noted }: Evidence): Promise<string[]> {
  const runs = await tables.rows<RunRow>(
    `select id, thread_id, position, status, last_seq, started_at, finished_at, deadline_at, result from runs`,
  );
  const rows = await tables.rows<EventRow>("select run_id, seq, body from run_events order by run_id, seq");
  const logs = Map.groupBy(rows, ({ run_id }) => run_id);
  return [
    ...runs.flatMap((run) => [...logFaults(run, logs.get(run.id) ?? [])]),
    ...eventFaults(noted, logs, new Map(runs.map((run) => [run.id, run]))),
    ...(await overlaps(tables)),
  ];
}

function* logFaults(run: RunRow, log: readonly EventRow[]): Generator<string> {
  if (!OVER.has(run.status) || run.finished_at === null) yield `a run never ended: ${run.id} is ${run.status}`;
  else if (run.finished_at > run.deadline_at + LATE_MS) yield `a run ended too late: ${run.id}`;
  if (log.some(({ seq }, index) => seq !== index + 1)) yield `a log has a gap: ${run.id}`;
  if (run.last_seq !== log.length) yield `a run counts ${run.last_seq} events and has ${log.length}: ${run.id}`;
  const ends = log.flatMap(({ body }, index) => (TERMINAL.test(body) ? [index] : []));
  if (ends.length !== 1 || ends[0] !== log.length - 1) yield `a log does not end once: ${run.id}`;
  const last = log.at(-1)?.body.startsWith('{"type":"finalResponse"') ? "succeeded" : "not succeeded";
  if ((run.status === "succeeded") !== (last === "succeeded")) yield `a run's status is not its end: ${run.id}`;
}

/** Every event that clients received is in the log, byte for byte, and each client received it once and in order. */
function* eventFaults(
  noted: readonly Noted[],
  logs: ReadonlyMap<string, readonly EventRow[]>,
  runs: ReadonlyMap<string, RunRow>,
): Generator<string> {
  const lastSeq = new Map<string, number>();
  for (const one of noted) {
    if (one.kind === "run" && !runs.has(one.runId)) yield `a reported run is not stored: ${one.runId}`;
    if (one.kind === "event") {
      const expected = (lastSeq.get(one.query) ?? 0) + 1;
      lastSeq.set(one.query, one.seq);
      if (one.seq !== expected) yield `a client got event ${one.seq} in place of ${expected}: ${one.runId}`;
      const stored = logs.get(one.runId)?.[one.seq - 1]?.body;
      if (stored === undefined) yield `a received event is lost: ${one.runId} ${one.seq}`;
      else if (stored !== one.data) yield `an event is stored differently than received: ${one.runId} ${one.seq}`;
    }
    if (one.kind === "answer") {
      // The answer of a successful run is only in its last event, not in its row.
      const stored = runs.get(one.runId)?.result ?? logs.get(one.runId)?.at(-1)?.body ?? "null";
      if (essence(stored) !== essence(one.body)) yield `an answer is stored differently than received: ${one.runId}`;
    }
  }
}

/** The common part of a result and a `finalResponse`, which has fewer fields. */
function essence(result: string): string {
  const { type, response, toolInteractions, ...rest } = (JSON.parse(result) ?? {}) as Record<string, unknown>;
  const { success, errorMessage } = type === "finalResponse" ? { success: true, errorMessage: "" } : rest;
  return JSON.stringify([success, response, errorMessage, toolInteractions]);
}

async function overlaps(tables: Tables): Promise<string[]> {
  const found = await tables.rows<{ id: string }>(`
    select a.id from runs a join runs b on a.thread_id = b.thread_id and a.position < b.position
    where a.started_at is not null and b.started_at is not null and b.started_at < a.finished_at
      and exists (select 1 from turns where run_id = a.id) and exists (select 1 from turns where run_id = b.id)`);
  return found.map(({ id }) => `two runs of a thread at the same time: ${id}`);
}
