import { z } from "zod";
import { Approval, ApprovalDecision, ApprovalStatus } from "../approval.ts";
import { type ConsoleRoute, pageOf, paging, readBy, time } from "./route.ts";
import { jsonObject } from "../members.ts";

/** An approval as members read it. */
export const ConsoleApproval = Approval.extend({
  agentId: z.string(),
  requestedAt: time,
  expiresAt: time,
  fourEyes: z.boolean(),
  /** The member's name, or the key's id, that sent the query. */
  requestedBy: z.string(),
  /** The role under which the person decided. */
  decidedAs: z.string().optional(),
  decisionReason: z.string().optional(),
  /** The arguments that ran, if the approver changed them. */
  edited: jsonObject.optional(),
});
export type ConsoleApproval = z.infer<typeof ConsoleApproval>;

/** Routes for the approvals that the organisation's runs wait for. */
export const APPROVAL_ROUTES = {
  "GET /approvals": readBy(
    "approvals:read",
    "All agents' approvals, newest first",
    {
      ...paging,
      status: ApprovalStatus.optional(),
      agentId: z.string().max(64).optional(),
      runId: z.string().max(64).optional(),
      approvalId: z.string().max(64).optional(),
    },
    pageOf(ConsoleApproval),
  ),
  "POST /agents/:agent_id/approvals/:approval_id/decision": {
    needs: "developer",
    scopes: [["approvals:write"]],
    summary: "Approve or reject a call as a role that may decide",
    body: ApprovalDecision,
    answer: ConsoleApproval,
  },
} as const satisfies Record<string, ConsoleRoute>;
