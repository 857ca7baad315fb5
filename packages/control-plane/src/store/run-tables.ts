import type { CallOutcome, JsonValue, QueryResponse, RunStatus } from "@patchbay/protocol";
import type { Generated, Selectable } from "kysely";
import type { Message } from "../ports/model-provider.ts";
import type { EarlierAttempt, RunEnding, RunRequest, TurnTiming } from "../ports/records.ts";
import type { Json } from "./columns.ts";

/** One query. Times are milliseconds of the database's clock. */
export interface RunRow {
  id: string;
  org_id: string;
  agent_id: string;
  thread_id: string;
  /** 1, 2, 3 … within the thread: the order in which its runs take their turn. */
  position: number;
  session_id: string | null;
  key_id: string;
  role: string | null;
  subject: string | null;
  status: RunStatus;
  owner: string | null;
  fence: number;
  lease_until: number | null;
  claims: number;
  crashes: number;
  last_seq: number;
  manifest_hash: string | null;
  request: Json<RunRequest>;
  cancel_requested: number;
  created_at: number;
  started_at: number | null;
  /** Null just as long as the run is queued or running: the indexes of such runs go by it, and who looks for them says so. */
  finished_at: number | null;
  deadline_at: number;
  result: Json<QueryResponse> | null;
  /** The result without its function calls. Null for runs that ended before there was such a column, or as they began. */
  ending: Json<RunEnding> | null;
  history: Json<Message[]> | null;
  /**
   * Bytes of `history` of the thread's runs of the same role and subject, up to and including this one, those included that are
   * deleted since then. Null for runs of earlier versions.
   */
  history_total: number | null;
  /** Of the request that began the run; null for runs of earlier versions. */
  request_id: string | null;
  /** The turn that was asked for when the run ended without it. */
  unanswered: Json<TurnTiming> | null;
}

export type CallRow = Selectable<CallTable>;

/** One function call of a run. */
export interface CallTable {
  id: string;
  run_id: string;
  org_id: string;
  agent_id: string | null;
  role: string | null;
  step: number;
  position: number;
  model_call_id: string;
  function_name: string;
  arguments: Json<JsonValue>;
  instance_id: string | null;
  attempt: number;
  /** When the frame of this attempt left; told with the answer, so null until then. */
  sent_at: number | null;
  /** Those before this one; null where it is the first. */
  attempts: Json<EarlierAttempt[]> | null;
  /** The replica that took this attempt to send it. */
  accepted_by: string | null;
  outcome: Json<CallOutcome> | null;
  /** What the runtime answered, until the run's owner makes it the outcome. */
  arrived: Json<CallOutcome> | null;
  /** Null without an outcome. `denied`: the gate refused it; `failed`: anything else that is no result. */
  state: "succeeded" | "failed" | "denied" | null;
  /** 1 once the audit log says that an answer came after the call was given up. */
  late: Generated<number>;
  created_at: number;
  finished_at: number | null;
}
