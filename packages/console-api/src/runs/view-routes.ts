import { randomUUID } from "node:crypto";
import type { RunView } from "@patchbay/engine/ports/store/run-views";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { type ConsoleDeps, type Handlers, notFound } from "../handler.ts";

/** Views of run lists. Every member saves private ones; only developers and owners share them. */
export function viewRoutes({ store: { views } }: Pick<ConsoleDeps, "store">) {
  return {
    async "GET /agents/:agent_id/views"({ by, agent: { orgId, agentId } }) {
      const all = await views.list(orgId, agentId, by.memberId);
      return { views: all.map((view) => shown(view, by.memberId)) };
    },

    async "POST /agents/:agent_id/views"({ by, agent: { orgId, agentId }, body }) {
      if (body.shared && by.role === "viewer")
        throw new ServiceError(
          "console_role_required",
          "Sharing a view needs the role developer, and yours is viewer. Keep it for yourself, or ask a developer.",
        );
      const view = { viewId: `view_${randomUUID()}`, orgId, agentId, memberId: by.memberId, ...body };
      if (!(await views.add(view)))
        throw new ServiceError(
          "conflict",
          body.shared
            ? "This agent already has 200 shared views. Delete one of them first, or keep this view for yourself."
            : "You already have 200 views of your own for this agent. Delete one of them first.",
        );
      return shown(view, by.memberId);
    },

    async "DELETE /agents/:agent_id/views/:view_id"({ by, agent: { orgId, agentId }, params }) {
      const view = { viewId: params.view_id, orgId, agentId, memberId: by.memberId };
      if (!(await views.remove({ ...view, anyShared: by.role === "owner" }))) throw notFound("view");
    },
  } satisfies Handlers;
}

const shown = ({ viewId, memberId, name, shared, search }: RunView, memberIdOfCaller: string) => ({
  viewId,
  name,
  shared,
  own: memberId === memberIdOfCaller,
  search,
});
