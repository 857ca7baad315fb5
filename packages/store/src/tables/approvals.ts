import type { ApprovalRecord } from "@patchbay/engine/ports/store/approvals";
import { bigint, flag, json, recordColumns, type RowOf, text } from "./table.ts";

/** Without the caller, who is in the run. */
type StoredApproval = Omit<ApprovalRecord, "callerId">;

const APPROVAL = {
  approvalId: text("id"),
  orgId: text("org_id"),
  agentId: text("agent_id"),
  runId: text("run_id"),
  threadId: text("thread_id"),
  callId: text("call_id"),
  functionName: text("function_name"),
  role: text("role"),
  requestedBy: text("requested_by"),
  arguments: json("arguments"),
  argumentsHash: text("arguments_hash"),
  reason: text("reason"),
  flow: json("flow"),
  by: json("decides"),
  edit: json("edit"),
  fourEyes: flag("four_eyes"),
  status: text("status"),
  requestedAt: bigint("requested_at"),
  expiresAt: bigint("expires_at"),
  decidedAt: bigint("decided_at"),
  decidedBy: text("decided_by"),
  decidedAs: text("decided_as"),
  decisionReason: text("decision_reason"),
  edited: json("edited"),
  reported: flag("reported"),
};

/** A request for an approval, and its decision. */
export type ApprovalRow = RowOf<StoredApproval, typeof APPROVAL>;
export const approvalColumns = recordColumns<StoredApproval>()(APPROVAL);
