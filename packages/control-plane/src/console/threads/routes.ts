import { rangeOf } from "../analytics/time-range.ts";
import { callerOf, type ConsoleDeps, found, type HandlersOf, paged, notFound } from "../handler.ts";

type ThreadRoutes =
  | "GET /agents/:agent_id/threads"
  | "GET /agents/:agent_id/threads/:thread_id"
  | "DELETE /agents/:agent_id/threads/:thread_id"
  | "GET /agents/:agent_id/sessions";

/** Conversations of an agent: its threads, and the sessions that they belong to. */
export function threadRoutes({
  store,
  queries,
  runs,
}: Pick<ConsoleDeps, "store" | "queries" | "runs">): HandlersOf<ThreadRoutes> {
  const { threads, sessions } = queries;
  return {
    "GET /agents/:agent_id/threads": ({ agent: { orgId, agentId }, query }) =>
      threads.list(orgId, agentId, paged(query)),

    async "GET /agents/:agent_id/threads/:thread_id"({ agent: { orgId, agentId }, params, query }) {
      return found(await threads.get(orgId, agentId, params.thread_id, paged(query)), "thread");
    },

    async "DELETE /agents/:agent_id/threads/:thread_id"({ by, agent: { orgId, agentId }, params }) {
      const threadId = params.thread_id;
      if (!(await runs.eraseThread(callerOf(by, agentId), threadId))) throw notFound("thread");
      await store.audit.record([{ action: "thread.erased", orgId, agentId, keyId: by.memberId, detail: { threadId } }]);
    },

    async "GET /agents/:agent_id/sessions"({ agent: { orgId, agentId }, query }) {
      const range = rangeOf(query, await store.now());
      return sessions.list(orgId, agentId, { ...paged(query), ...range });
    },
  };
}
