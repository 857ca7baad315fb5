import type { WidenedSet } from "@patchbay/protocol/console";
import { OPERATOR } from "../../accounts/admin-access.ts";
import type { DeployedSet } from "../../ports/stores.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { agentOf } from "./agent-of.ts";

type WideningRoutes =
  | "GET /agents/:agent_id/access/services"
  | "GET /agents/:agent_id/access/widenings"
  | "POST /agents/:agent_id/access/confirmations";

/** Which services serve, the function sets that widened access, and their confirmation. */
export function wideningHandlers({
  store,
  adminOf,
  gateway,
}: Pick<ConsoleDeps, "store" | "adminOf" | "gateway">): HandlersOf<WideningRoutes> {
  return {
    async "GET /agents/:agent_id/access/services"({ by, params }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { services } = await gateway.serving(agentId);
      return { services };
    },

    async "GET /agents/:agent_id/access/widenings"({ by, params, query }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { items, nextCursor } = await store.console.functions.widened(by.orgId, agentId, paged(query));
      return { items: items.map(shown), nextCursor };
    },

    async "POST /agents/:agent_id/access/confirmations"({ by, params, body }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      await adminOf(by.memberId).acceptAccess(agentId, body.manifestHash);
    },
  };
}

/** Sentences of one set: a large set may widen in thousands of places. */
const LISTED = 50;

function shown(set: Omit<DeployedSet, "position">): WidenedSet {
  const { service, deployment, named, manifestHash, replaces, firstSeenAt, confirmation } = set;
  return {
    service,
    deployment,
    named,
    manifestHash,
    replaces: replaces ?? null,
    firstSeenAt: new Date(firstSeenAt).toISOString(),
    widenings: set.widenings
      .slice(0, LISTED)
      .map(({ functionName, text }) => ({ functionName: functionName ?? null, text })),
    omitted: Math.max(0, set.widenings.length - LISTED),
    confirmation,
    confirmedBy: set.confirmedBy === OPERATOR ? null : (set.confirmedBy ?? null),
    confirmedAt: set.confirmedAt === undefined ? null : new Date(set.confirmedAt).toISOString(),
  };
}
