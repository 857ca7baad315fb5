import type { QueryResponse, RunStatus } from "@patchbay/protocol";
import type { RunSummary } from "@patchbay/protocol/console";
import type { Message } from "@patchbay/engine/ports/model-provider";
import {
  ACCEPTED,
  type AcceptedRun,
  type RunEnding,
  type RunFacts,
  type RunRecord,
  type TurnTiming,
} from "@patchbay/engine/ports/records";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { type Json, toJson } from "../columns.ts";
import { bigint, flag, integer, json, pick, recordColumns, type RowOf, text } from "./table.ts";

const RUN = {
  runId: text("id"),
  orgId: text("org_id"),
  agentId: text("agent_id"),
  threadId: text("thread_id"),
  sessionId: text("session_id"),
  keyId: text("key_id"),
  requestId: text("request_id"),
  role: text("role"),
  subject: text("subject"),
  callerId: text("caller_id"),
  kind: text("kind"),
  status: text("status"),
  fence: integer("fence"),
  claims: integer("claims"),
  crashes: integer("crashes"),
  lastSeq: integer("last_seq"),
  manifestHash: text("manifest_hash"),
  request: json("request"),
  cancelRequested: flag("cancel_requested"),
  createdAt: bigint("created_at"),
  startedAt: bigint("started_at"),
  finishedAt: bigint("finished_at"),
  deadlineAt: bigint("deadline_at"),
  waitedMs: bigint("waited_ms"),
  trace: json("trace"),
  result: json("result"),
};

/**
 * One query. Times are milliseconds of the database's clock. The partial indexes of open runs use `finished_at`, so queries for open
 * runs must name it.
 */
export interface RunRow extends RowOf<RunRecord, typeof RUN> {
  /** 1, 2, 3 … within the thread, the order in which its runs execute. */
  position: number;
  owner: string | null;
  /** When the lease ends; without an owner, when the last one ended. 0 or null if unknown. */
  lease_until: number | null;
  /** When a crash was last counted or forgiven for the run; null without crashes. */
  crashed_at: number | null;
  /** Size of the group in which a suspect was last resumed; null once a process has survived it, and for other runs. */
  quarantine_group: number | null;
  /** The result without its function calls, which may be megabytes. */
  ending: Json<RunEnding> | null;
  history: Json<Message[]> | null;
  /**
   * Total `history` bytes in the thread for the same role and subject, up to and including this run. Still counts runs
   * that were deleted since.
   */
  history_total: number | null;
  /** Milliseconds until a waiting run's deadline, from when it started to wait. */
  remaining_ms: number | null;
  /** When a waiting run is due: when its first approval expires, or at once. Null for every other run. */
  wake_at: number | null;
  /** When a waiting run started to wait. Null for every other run. */
  waits_since: number | null;
  /** The failed run that this one retries; null for every other run. */
  retry_of: string | null;
  /** The requested model turn that was in progress when the run ended. */
  unanswered: Json<TurnTiming> | null;
  /** The name under which a later request from its client takes the run over; null for every other run. */
  left_as: string | null;
}

/** Without `history`, which may be large and only later runs read. */
export const runColumns = recordColumns<RunRecord>()(RUN);

/** Columns that determine who may see a run and its progress. */
export const factColumns = recordColumns<RunFacts>()(
  pick(RUN, ["runId", "agentId", "threadId", "role", "callerId", "status", "lastSeq", "finishedAt"]),
);

export const acceptedColumns = recordColumns<AcceptedRun>()(pick(RUN, ACCEPTED));

/** Members that the facts of a run have from the run itself. */
const OF_RUN = [
  ...(["orgId", "agentId", "threadId", "sessionId", "keyId", "requestId"] as const),
  ...(["role", "status", "createdAt"] as const),
];

/** An ended run as lists filter, sort and add it up; written after its end. A run that has not ended has no row. */
type RecordedFacts = Pick<RunRecord, "runId" | (typeof OF_RUN)[number]> &
  Pick<RunSummary, "source" | "model" | "durationMs" | "inputTokens" | "outputTokens"> &
  Pick<RunSummary, "calls" | "failedCalls" | "deniedCalls"> & {
    code?: string;
    /** Names of called functions, each between spaces. */
    functions: string;
    costMicros: number;
    /** True if the run ended without an answer after a write; undefined for runs from earlier versions. */
    afterWrites?: boolean;
  };

const FACTS = {
  ...pick(RUN, OF_RUN),
  runId: text("run_id"),
  source: text("source"),
  code: text("code"),
  model: text("model"),
  functions: text("functions"),
  durationMs: bigint("duration_ms"),
  inputTokens: bigint("input_tokens"),
  outputTokens: bigint("output_tokens"),
  costMicros: bigint("cost_micros"),
  calls: integer("calls"),
  failedCalls: integer("failed_calls"),
  deniedCalls: integer("denied_calls"),
  afterWrites: flag("after_writes"),
};

/** A row of `run_facts`, without its number. */
export type FactsRow = RowOf<RecordedFacts, typeof FACTS>;
export const recordedColumns = recordColumns<RecordedFacts>()(FACTS);
/** The columns that `run_facts` has from `runs`. */
export const ofRunColumns = recordColumns<Pick<RunRecord, (typeof OF_RUN)[number]>>()(pick(RUN, OF_RUN));

/** The columns of a run that its request sets. */
export function newRowOf(run: NewRun) {
  const { role } = run.request;
  return acceptedColumns.rowOf(role === undefined ? run : { ...run, role });
}

/** A result without its calls: lists and pages then do not read megabytes. */
export function endingOf({ toolInteractions: _calls, ...ending }: QueryResponse): RunEnding {
  return ending;
}

export const resultColumns = (status: RunStatus, result: QueryResponse | undefined) => ({
  // A successful run's last event contains its result with all calls, up to megabytes: not stored a second time.
  result: result && status !== "succeeded" ? toJson(result) : null,
  ending: result ? toJson(endingOf(result)) : null,
});
