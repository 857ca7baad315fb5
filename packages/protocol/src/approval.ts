import { z } from "zod";
import { APPROVAL_STATUSES } from "./codes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { LIMITS } from "./limits.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject);

/** How a function asks people, in the manifest. */
export const ApprovalRule = z.object({
  by: z
    .array(z.string().min(1).max(LIMITS.labelUnits))
    .min(1)
    .describe("The roles that may decide. `caller`: the role of the run."),
  conditional: z.boolean().describe("True if the owner's `when` decides for each call whether it needs an approval."),
  edit: z.array(z.string()).optional().describe("Members of the arguments that an approver may change. Absent: none."),
  fourEyes: z.boolean().describe("True if the key or member that sent the query may not decide."),
  expiresInMs: z
    .int()
    .min(LIMITS.approvalMinMs)
    .max(LIMITS.approvalMaxMs)
    .describe("Milliseconds until a request without a decision expires."),
});
export type ApprovalRule = z.infer<typeof ApprovalRule>;

/** The reason of a request if the owner's code gives none. Events and lists leave it out. */
export const APPROVAL_REQUIRED = "A person must approve this call.";

/** The id of the approval of a call, which has at most one. The runtime computes it too, and refuses the approval of another call. */
export function approvalIdOf(callId: string): string {
  return `apr_${callId.slice(callId.indexOf("_") + 1)}`;
}

/** States of an approval. All except `pending` are final. */
export const ApprovalStatus = z.enum(APPROVAL_STATUSES);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

const approvalId = z.string().describe("Names the request for an approval in events, routes and the console.");
const toolCallId = z.string().describe("Identifies the call in all events of the run.");
const toolName = z.string().describe("The function that the model called.");
const parameters = json.describe("The arguments that the approver decides on.");
const reason = z.string().optional().describe("Why the owner's code asks for an approval, if it gives a reason.");
const by = z.array(z.string()).describe("The roles that may decide. `caller`: the role of the run.");
const expiresAt = z.string().describe("ISO 8601 time at which the request expires.");

/** A request for an approval, in events and in the response of a run that waits. */
export const approvalRequestMembers = { approvalId, toolName, parameters, reason, by, expiresAt };

/** A pending approval of a run that waits. */
export const ApprovalRequest = z.object(approvalRequestMembers);
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

/** An approval, in lists and as the response to a decision. Times are ISO 8601. */
export const Approval = z.object({
  approvalId,
  runId: z.string().describe("The run whose call needs the approval."),
  threadId: z.string().describe("The conversation of the run."),
  toolCallId,
  toolName,
  parameters,
  reason,
  by,
  edit: z.array(z.string()).describe("Members of the arguments that a decision may change."),
  role: z.string().nullable().describe("The role of the run, or null without one."),
  status: ApprovalStatus.describe("`pending` until it is decided, expires, or its run ends."),
  requestedAt: z.string().describe("ISO 8601 time of the request."),
  expiresAt,
  decidedAt: z.string().optional().describe("ISO 8601 time of the decision. Absent before it."),
  decidedBy: z.string().optional().describe("Id of the key or member that decided. Absent if none did."),
});
export type Approval = z.infer<typeof Approval>;

/** One page of an agent's approvals, newest first. `nextCursor` is null on the last page. */
export const ApprovalPage = z.object({
  items: z.array(Approval).describe("The approvals of this page, newest first."),
  nextCursor: z.string().nullable().describe("Sent as `cursor`, it requests the next page. Null on the last page."),
});
export type ApprovalPage = z.infer<typeof ApprovalPage>;

/** Body of a decision. */
export const ApprovalDecision = z.object({
  approved: z.boolean().describe("True runs the call, false refuses it."),
  reason: z
    .string()
    .max(LIMITS.approvalReasonUnits)
    .optional()
    .describe("Why, for the record. The model and the caller read the reason of a rejection."),
  arguments: jsonObject
    .optional()
    .describe("The whole arguments with changes. Only members in `edit` may differ, else 400 with the path."),
  as: z
    .string()
    .max(LIMITS.labelUnits)
    .optional()
    .describe("The role under which the key decides. Optional for a key that is pinned to exactly one role."),
});
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** A decision on the way to the runtime, which checks every part of it again. */
export const GrantedApproval = z.object({
  approvalId,
  argumentsHash: z
    .string()
    .describe("SHA-256 in hexadecimal of the canonical JSON of the arguments that the approver decided on."),
  edited: jsonObject
    .optional()
    .describe("The arguments to run, if the approver changed them. They differ only in members that `edit` names."),
  decidedAs: z.string().describe("The role under which the approver decided. It is in `by`, or `caller` is."),
  decidedBy: z.string().describe("Id of the key or member that decided."),
  requestedBy: z.string().describe("Id of the key or member that sent the query."),
  decidedAt: z.string().describe("ISO 8601 time of the decision."),
});
export type GrantedApproval = z.infer<typeof GrantedApproval>;
