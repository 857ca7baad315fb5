import { z } from "zod";
import { Approval, ApprovalDecision, ApprovalStatus } from "../approval.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { pageOf, paging, readBy, time } from "./route.ts";
import type { ConsoleRoute } from "./route.ts";

const jsonObject = z.custom<JsonObject>(isJsonObject);

/** An approval as members read it. */
export const ConsoleApproval = Approval.extend({
  agentId: z.string(),
  requestedAt: time,
  expiresAt: time,
  fourEyes: z.boolean(),
  /** Name of the member, or id of the key, that sent the query. */
  requestedBy: z.string(),
  /** The role under which the person decided. */
  decidedAs: z.string().optional(),
  decisionReason: z.string().optional(),
  /** The arguments that ran, if the approver changed them. */
  edited: jsonObject.optional(),
});
export type ConsoleApproval = z.infer<typeof ConsoleApproval>;

/** Routes of the approvals that runs of the organisation wait for. */
export const APPROVAL_ROUTES = {
  "GET /approvals": readBy(
    "approvals:read",
    "Approvals of all agents, newest first",
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
    summary: "Approve or reject a call as one of the roles that may decide",
    body: ApprovalDecision,
    answer: ConsoleApproval,
  },
} as const satisfies Record<string, ConsoleRoute>;
