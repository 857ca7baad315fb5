import type { ConsoleDeps } from "../deps.ts";
import { notFound } from "../console-error.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { agentOf } from "./agent-of.ts";
import { callerOf } from "./caller-of.ts";

type ThreadRoutes =
  | "GET /agents/:agent_id/threads"
  | "GET /agents/:agent_id/threads/:thread_id"
  | "DELETE /agents/:agent_id/threads/:thread_id";

export function threadHandlers({ store, runs }: ConsoleDeps): HandlersOf<ThreadRoutes> {
  return {
    async "GET /agents/:agent_id/threads"({ params, query, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      return store.console.threads.list(by.orgId, agentId, paged(query));
    },

    async "GET /agents/:agent_id/threads/:thread_id"({ params, query, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const thread = await store.console.threads.get(by.orgId, agentId, params.thread_id, paged(query));
      if (!thread) throw notFound("thread");
      return thread;
    },

    async "DELETE /agents/:agent_id/threads/:thread_id"({ params, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const threadId = params.thread_id;
      if (!(await runs.eraseThread(callerOf(by, agentId), threadId))) throw notFound("thread");
      const entry = { action: "thread.erased", orgId: by.orgId, agentId, keyId: by.memberId, detail: { threadId } };
      await store.audit.record([entry]);
    },
  };
}
