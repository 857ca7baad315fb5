import { present } from "@patchbay/protocol";
import type { ConsoleApproval } from "@patchbay/protocol/console";
import type { ApprovalRecord } from "../../ports/approvals.ts";
import { approvalOf } from "../../run/approvals.ts";
import { callerOf, type ConsoleDeps, found, type HandlersOf, paged } from "../handler.ts";

type ApprovalRoutes = "GET /approvals" | "POST /agents/:agent_id/approvals/:approval_id/decision";

/** The approvals that runs wait for. Members decide by the rules of the query API; their console role is their right to decide. */
export function approvalRoutes({
  approvals,
  queries,
  store,
}: Pick<ConsoleDeps, "approvals" | "queries" | "store">): HandlersOf<ApprovalRoutes> {
  async function named(orgId: string, records: readonly ApprovalRecord[]): Promise<ConsoleApproval[]> {
    const ids = records.flatMap(({ requestedBy, decidedBy }) => [requestedBy, ...(decidedBy ? [decidedBy] : [])]);
    const names = await queries.audit.names(orgId, [...new Set(ids)]);
    const nameOf = (id: string | undefined) => (id === undefined ? undefined : (names.get(id) ?? id));
    return records.map((one) => {
      const { agentId, fourEyes, decidedAs, decisionReason, edited } = one;
      return {
        ...approvalOf(one),
        agentId,
        fourEyes,
        requestedBy: nameOf(one.requestedBy)!,
        ...present({ decidedBy: nameOf(one.decidedBy), decidedAs, decisionReason, edited }),
      };
    });
  }

  return {
    async "GET /approvals"({ by: { orgId }, query }) {
      const { limit, ...wanted } = paged(query);
      const { items, nextCursor } = await store.approvals.list({ ...present(wanted), orgId, limit });
      return { items: await named(orgId, items), nextCursor };
    },

    async "POST /agents/:agent_id/approvals/:approval_id/decision"({ by, agent: { agentId }, params, body }) {
      const approvalId = params.approval_id;
      found(await store.approvals.get(agentId, approvalId), "approval");
      await approvals.decide({ ...callerOf(by, agentId), can: ["approve"] }, approvalId, body);
      const [approval] = await named(by.orgId, [found(await store.approvals.get(agentId, approvalId), "approval")]);
      return approval!;
    },
  };
}
