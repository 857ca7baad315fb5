import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { agentOf } from "./agent-of.ts";

export function runtimeHandlers({ store }: Pick<ConsoleDeps, "store">): HandlersOf<"GET /agents/:agent_id/runtimes"> {
  return {
    async "GET /agents/:agent_id/runtimes"({ by, params, query }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      return store.console.runtimes.list(by.orgId, agentId, paged(query));
    },
  };
}
