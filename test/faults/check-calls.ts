import type { Evidence } from "./check-runs.ts";
import { countBy } from "./figures.ts";
import type { FunctionNote } from "./history.ts";

interface CallRow {
  id: string;
  run_id: string;
  function_name: string;
  arguments: string;
  outcome: string | null;
}

export interface CallFaults {
  faults: string[];
  made: number;
  /** Calls with an unknown outcome. */
  unknown: number;
  /** Other failed calls, by code. */
  failed: Record<string, number>;
  /** Pieces of work that must run at most once, and ran again. */
  twice: number;
}

/** Each call runs at most once unless it is idempotent, as the functions recorded. Counts `counted` runs. */
export async function callFaults({ tables, notes }: Evidence, counted: ReadonlySet<string>): Promise<CallFaults> {
  const calls = await tables.rows<CallRow>("select id, run_id, function_name, arguments, outcome from calls");
  const repeated = repeatedWork(notes);
  const outcomes = calls.map((call) => ({ call, outcome: JSON.parse(call.outcome ?? "null") as Outcome | null }));
  const mine = outcomes.filter(({ call }) => counted.has(call.run_id));
  return {
    faults: [...unfounded(outcomes, notes), ...repeated],
    made: mine.length,
    failed: countBy(
      mine.filter(({ outcome }) => outcome && !outcome.ok && outcome.code !== "outcome_unknown"),
      ({ outcome }) => outcome?.code ?? "",
    ),
    unknown: mine.filter(({ outcome }) => outcome?.code === "outcome_unknown").length,
    twice: repeated.length,
  };
}

interface Outcome {
  ok: boolean;
  code?: string;
}

/** By the functions' own records: neither a call nor its piece of work runs twice, unless it is idempotent. */
function repeatedWork(notes: readonly FunctionNote[]): string[] {
  const begun = notes.filter(({ phase, name }) => phase === "begin" && name === "charge");
  const twice = [...Map.groupBy(begun, ({ id }) => id).values()].filter((runs) => runs.length > 1);
  return twice.map(
    (runs) => `a charge ran ${runs.length} times: ${runs.map(({ id, callId }) => `${id} ${callId}`).join()}`,
  );
}

/** Each stored result belongs to a function that ran to its end under this call's id. */
function* unfounded(
  outcomes: readonly { call: CallRow; outcome: Outcome | null }[],
  notes: readonly FunctionNote[],
): Generator<string> {
  const done = new Set(notes.filter(({ phase }) => phase === "end").map(({ callId }) => callId));
  for (const { call, outcome } of outcomes)
    if (outcome?.ok && !done.has(call.id)) yield `a result is stored of a call that never ran: ${call.id}`;
}
