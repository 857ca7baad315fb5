import { z } from "zod";
import { APPROVAL_STATUSES } from "./codes.ts";
import { FlowNotice } from "./flow.ts";
import { LIMITS } from "./limits.ts";
import { flag, json, jsonObject, nullableText, optionalText, optionalTexts, text, texts } from "./members.ts";

/** How a function asks people, in the manifest. */
export const ApprovalRule = z.object({
  by: z
    .array(z.string().min(1).max(LIMITS.labelUnits))
    .min(1)
    .describe("The roles that may decide. `caller`: the run's role."),
  conditional: flag("True if the owner's `when` decides for each call whether it needs an approval."),
  edit: optionalTexts("Arguments that an approver may change. Absent: none."),
  fourEyes: flag(
    "True if neither the query's sender may decide, nor the member who created its key, nor that member's other keys.",
  ),
  expiresInMs: z
    .int()
    .min(LIMITS.approvalMinMs)
    .max(LIMITS.approvalMaxMs)
    .describe("Milliseconds until a request without a decision expires."),
});
export type ApprovalRule = z.infer<typeof ApprovalRule>;

/** A request's reason if the owner's code gives none. Events and lists omit it. */
export const APPROVAL_REQUIRED = "A person must approve this call.";

/**
 * The approval id for a call, which has at most one approval. The runtime computes it too, and refuses another call's
 * approval.
 */
export function approvalIdOf(callId: string): string {
  return `apr_${callId.slice(callId.indexOf("_") + 1)}`;
}

/** Approval states. All except `pending` are final. */
export const ApprovalStatus = z.enum(APPROVAL_STATUSES);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

const approvalId = text("Names the request for an approval in events, routes and the console.");
const toolCallId = text("Identifies the call in all the run's events.");
const toolName = text("The function that the model called.");
const parameters = json.describe("The arguments that the approver decides on.");
const reason = optionalText("Why the owner's code asks for an approval, if it gives a reason.");
const by = texts("The roles that may decide. `caller`: the run's role.");
const flow = FlowNotice.optional().describe("What the data-flow rules ask about.");
const expiresAt = text("ISO 8601 time at which the request expires.");

/** An approval request, in events and in the response while a run waits. */
export const approvalRequestMembers = { approvalId, toolName, parameters, reason, flow, by, expiresAt };

/** A waiting run's pending approval. */
export const ApprovalRequest = z.object(approvalRequestMembers);
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

/** An approval, in lists and as the response to a decision. Times are ISO 8601. */
export const Approval = z.object({
  approvalId,
  runId: text("The run whose call needs the approval."),
  threadId: text("The run's conversation."),
  toolCallId,
  toolName,
  parameters,
  reason,
  flow,
  by,
  edit: texts("Arguments that a decision may change."),
  role: nullableText("The run's role, or null without one."),
  status: ApprovalStatus.describe("`pending` until it is decided, expires, or its run ends."),
  requestedAt: text("ISO 8601 time of the request."),
  expiresAt,
  decidedAt: optionalText("ISO 8601 time of the decision. Absent before it."),
  decidedBy: optionalText("Id of the key or member that decided. Absent if none did."),
});
export type Approval = z.infer<typeof Approval>;

/** One page of an agent's approvals, newest first. `nextCursor` is null on the last page. */
export const ApprovalPage = z.object({
  items: z.array(Approval).describe("The approvals on this page, newest first."),
  nextCursor: nullableText("Sent as `cursor`, it requests the next page. Null on the last page."),
});
export type ApprovalPage = z.infer<typeof ApprovalPage>;

/** Decision body. */
export const ApprovalDecision = z.object({
  approved: flag("True runs the call, false refuses it."),
  reason: z
    .string()
    .max(LIMITS.approvalReasonUnits)
    .optional()
    .describe("Why, for the record. The model and the caller read a rejection's reason."),
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
  argumentsHash: text("SHA-256 over the canonical JSON of the arguments that the approver decided on, in hexadecimal."),
  edited: jsonObject
    .optional()
    .describe("The arguments to run, if the approver changed them. They differ only in members that `edit` names."),
  decidedAs: text("The role under which the approver decided. It is in `by`, or `caller` is."),
  decidedBy: text("Id of the key or member that decided."),
  requestedBy: text("Id of the key or member that sent the query."),
  decidedAt: text("ISO 8601 time of the decision."),
});
export type GrantedApproval = z.infer<typeof GrantedApproval>;
