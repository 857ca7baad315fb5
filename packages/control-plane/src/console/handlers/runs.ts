import type { LogEvent } from "@patchbay/protocol/console";
import { toLocalJson } from "../../http/local-events.ts";
import { noContent } from "../../http/reply.ts";
import { lastEventId } from "../../http/run-routes.ts";
import { onPlace, streamRun } from "../../http/stream-run.ts";
import type { ConsoleDeps } from "../deps.ts";
import { notFound } from "../console-error.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { traceOf } from "../trace.ts";
import { agentOf } from "./agent-of.ts";
import { callerOf, ownerOf } from "./caller-of.ts";

type RunRoutes =
  | "GET /agents/:agent_id/runs"
  | "GET /agents/:agent_id/runs/:run_id"
  | "GET /agents/:agent_id/runs/:run_id/log"
  | "GET /agents/:agent_id/runs/:run_id/events"
  | "POST /agents/:agent_id/runs/:run_id/cancel";

export function runHandlers(deps: ConsoleDeps): HandlersOf<RunRoutes> {
  const { store, runs } = deps;
  return {
    async "GET /agents/:agent_id/runs"({ params, query, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { from, to, ...asked } = paged(query);
      return store.console.runs.list(by.orgId, agentId, { ...asked, from: msOf(from), to: msOf(to) });
    },

    async "GET /agents/:agent_id/runs/:run_id"({ params, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const parts = await store.console.runs.parts(by.orgId, agentId, params.run_id);
      if (!parts) throw notFound("run");
      const { manifestHash } = parts.run;
      const manifest = manifestHash === undefined ? undefined : await store.runtimes.getManifest(agentId, manifestHash);
      return traceOf(parts, manifest);
    },

    async "GET /agents/:agent_id/runs/:run_id/log"({ params, query, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { dialect, ...asked } = paged(query);
      const page = await store.console.runs.log(by.orgId, agentId, params.run_id, asked);
      if (!page) throw notFound("run");
      return dialect === "local" ? { ...page, items: page.items.map(inLocalForm) } : page;
    },

    async "GET /agents/:agent_id/runs/:run_id/events"({ params, by, exchange }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const asked = lastEventId(exchange);
      const run = await runs.find(callerOf(by, agentId), params.run_id);
      if (!run) throw notFound("run");
      if (run.finishedAgoMs !== undefined && asked >= run.lastEventId) return noContent(exchange);
      // An id from beyond the log was never sent: whoever names one is shown what comes.
      const after = Math.min(asked, run.lastEventId);
      const view = { after, deltas: true, cancelWhenGone: false };
      return onPlace(deps, exchange, { owner: ownerOf(by), runId: run.runId, wait: false }, (place) =>
        streamRun(deps, exchange, run, view, place),
      );
    },

    async "POST /agents/:agent_id/runs/:run_id/cancel"({ params, by }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const cancelled = await runs.cancel(callerOf(by, agentId), params.run_id);
      if (!cancelled) throw notFound("run");
      const { runId, status } = cancelled;
      // The run's own entries name whoever began it.
      const entry = { action: "run.cancel_requested", orgId: by.orgId, agentId, runId, keyId: by.memberId };
      if (status === "queued" || status === "running") await store.audit.record([entry]);
      return cancelled;
    },
  };
}

const msOf = (time: string | undefined): number | undefined => (time === undefined ? undefined : Date.parse(time));

const inLocalForm = (event: LogEvent): LogEvent => ({ ...event, body: toLocalJson(event.body) });
