import { rangeOf } from "../analytics/time-range.ts";
import { callerOf, type ConsoleDeps, found, type Handlers, paged, notFound } from "../handler.ts";

/** An agent's conversations: its threads and their sessions. */
export function threadRoutes({ store, queries, runs }: Pick<ConsoleDeps, "store" | "queries" | "runs">) {
  const { threads, sessions } = queries;
  return {
    "GET /agents/:agent_id/threads": ({ agent, query }) => threads.list(agent, paged(query)),

    async "GET /agents/:agent_id/threads/:thread_id"({ agent, params, query }) {
      return found(await threads.get(agent, params.thread_id, paged(query)), "thread");
    },

    async "DELETE /agents/:agent_id/threads/:thread_id"({ by, agent: { orgId, agentId }, params }) {
      const threadId = params.thread_id;
      if (!(await runs.eraseThread(callerOf(by, agentId), threadId))) throw notFound("thread");
      await store.audit.record([{ action: "thread.erased", orgId, agentId, keyId: by.memberId, detail: { threadId } }]);
    },

    async "GET /agents/:agent_id/sessions"({ agent, query }) {
      const range = rangeOf(query, await store.now());
      return sessions.list(agent, { ...paged(query), ...range });
    },
  } satisfies Handlers;
}
