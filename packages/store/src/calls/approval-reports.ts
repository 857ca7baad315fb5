import { isoTime } from "@patchbay/kit";
import type { ApprovalRecord, NewApproval } from "@patchbay/engine/ports/store/approvals";
import type { NewDelivery } from "@patchbay/engine/ports/store/webhooks";

type Run = Pick<ApprovalRecord, "runId" | "threadId">;

/** What webhooks report about a call: neither its arguments nor the request's reason, which may repeat them. */
const ofCall = ({ runId, threadId }: Run, { approvalId, functionName }: NewApproval) => ({
  runId,
  threadId,
  approvalId,
  toolName: functionName,
});

export function requested(approval: NewApproval, run: Run): NewDelivery {
  const { by, expiresAt } = approval;
  return {
    type: "approval.requested",
    data: { ...ofCall(run, approval), by: [...by], expiresAt: isoTime(expiresAt) },
  };
}

/** For an approval that is no longer pending. */
export function decided(approval: ApprovalRecord): NewDelivery {
  const { status } = approval;
  if (status === "pending") throw new Error(`approval ${approval.approvalId} is pending`);
  return { type: "approval.decided", data: { ...ofCall(approval, approval), decision: status } };
}
