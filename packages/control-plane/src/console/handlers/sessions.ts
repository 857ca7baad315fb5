import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { rangeOf } from "../time-range.ts";
import { agentOf } from "./agent-of.ts";

export function sessionListHandlers({
  store,
}: Pick<ConsoleDeps, "store">): HandlersOf<"GET /agents/:agent_id/sessions"> {
  return {
    async "GET /agents/:agent_id/sessions"({ params, query, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const range = rangeOf(query, await store.now());
      return store.console.sessions.list(by.orgId, agentId, { ...paged(query), ...range });
    },
  };
}
