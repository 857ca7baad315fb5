import type { ApprovalStatus, JsonObject, JsonValue } from "@patchbay/protocol";
import type { Json } from "./columns.ts";

/** A request for an approval, and its decision. Times are milliseconds of the database's clock. */
export interface ApprovalRow {
  id: string;
  org_id: string;
  agent_id: string;
  run_id: string;
  thread_id: string;
  call_id: string;
  function_name: string;
  role: string | null;
  requested_by: string;
  arguments: Json<JsonValue>;
  arguments_hash: string;
  reason: string | null;
  /** The roles that may decide. */
  decides: Json<string[]>;
  edit: Json<string[]>;
  four_eyes: number;
  status: ApprovalStatus;
  requested_at: number;
  expires_at: number;
  decided_at: number | null;
  decided_by: string | null;
  decided_as: string | null;
  decision_reason: string | null;
  edited: Json<JsonObject> | null;
  /** 1 once the log of the run has the decision. */
  reported: number;
}
