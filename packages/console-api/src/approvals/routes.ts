import { present } from "@patchbay/kit";
import type { ConsoleApproval } from "@patchbay/protocol/console";
import type { ApprovalRecord } from "@patchbay/engine/ports/store/approvals";
import { approvalOf } from "@patchbay/engine/run/approvals";
import { callerOf, type ConsoleDeps, found, type Handlers, paged } from "../handler.ts";

/**
 * The approvals that runs wait for. Members decide by the query API's rules; their console role gives them the right.
 */
export function approvalRoutes({ approvals, queries, store }: Pick<ConsoleDeps, "approvals" | "queries" | "store">) {
  async function named(orgId: string, records: readonly ApprovalRecord[]): Promise<ConsoleApproval[]> {
    const ids = records.flatMap(({ requestedBy, decidedBy }) => [requestedBy, ...(decidedBy ? [decidedBy] : [])]);
    const names = await queries.audit.names(orgId, [...new Set(ids)]);
    const nameOf = (id: string | undefined) => (id === undefined ? undefined : (names.get(id) ?? id));
    return records.map((record) => {
      const { agentId, fourEyes, decidedAs, decisionReason, edited } = record;
      return {
        ...approvalOf(record),
        agentId,
        fourEyes,
        requestedBy: nameOf(record.requestedBy)!,
        ...present({ decidedBy: nameOf(record.decidedBy), decidedAs, decisionReason, edited }),
      };
    });
  }

  return {
    async "GET /approvals"({ by: { orgId }, query }) {
      const { limit, ...wanted } = paged(query);
      const { items, nextCursor } = await store.approvals.list({ ...present(wanted), orgId, limit });
      return { items: await named(orgId, items), nextCursor };
    },

    async "POST /agents/:agent_id/approvals/:approval_id/decision"({ by, agent: { agentId }, params, body, again }) {
      const approvalId = params.approval_id;
      found(await store.approvals.get(agentId, approvalId), "approval");
      if (!again) await approvals.decide({ ...callerOf(by, agentId), can: ["approve"] }, approvalId, body);
      const [approval] = await named(by.orgId, [found(await store.approvals.get(agentId, approvalId), "approval")]);
      return approval!;
    },
  } satisfies Handlers;
}
