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
  status: string;
  finished_at: number | null;
  deadline_at: number;
  result: string | null;
}

interface EventRow {
  run_id: string;
  seq: number;
  body: string;
}

/** A run may end this long after its deadline. */
const LATE_MS = 20_000;

/** Every run ended in time, and what clients received is in the log. */
export async function runFaults({ tables, noted }: Evidence): Promise<string[]> {
  const runs = await tables.rows<RunRow>("select id, status, finished_at, deadline_at, result from runs");
  const rows = await tables.rows<EventRow>("select run_id, seq, body from run_events order by run_id, seq");
  const logs = Map.groupBy(rows, ({ run_id }) => run_id);
  return [
    ...runs.flatMap((run) => [...endFaults(run)]),
    ...eventFaults(noted, logs, new Map(runs.map((run) => [run.id, run]))),
  ];
}

function* endFaults(run: RunRow): Generator<string> {
  if (run.finished_at === null) yield `a run never ended: ${run.id} is ${run.status}`;
  else if (run.finished_at > run.deadline_at + LATE_MS) yield `a run ended too late: ${run.id}`;
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
