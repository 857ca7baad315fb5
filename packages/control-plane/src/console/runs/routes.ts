import type { LogEvent } from "@patchbay/protocol/console";
import { noContent, originOf } from "../../http/kernel/exchange.ts";
import { toLocalJson } from "../../http/query/local-events.ts";
import { asStranger } from "../../http/kernel/fair-queue.ts";
import { lastEventId } from "../../http/query/run-routes.ts";
import { countQuery } from "../../http/query/query-routes.ts";
import { onPlace, streamRun } from "../../http/query/stream-run.ts";
import type { RunRecord } from "../../ports/records.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Query } from "../../run/api.ts";
import { callerOf, type ConsoleDeps, found, type HandlersOf, notFound, ownerOf, paged } from "../handler.ts";
import { countTests, testFilesOf } from "../../recording/test-file.ts";
import { download, fileOf, runsToExport, tarOf } from "./export.ts";
import { filterOf } from "./filter.ts";
import { sentTurn } from "./sent-turn.ts";
import { traceOf } from "./trace.ts";

/** Runs that an export reads in one turn. */
const EXPORTED_AT_ONCE = 1_000;

type ListRoutes =
  | "GET /agents/:agent_id/runs"
  | "GET /agents/:agent_id/run-totals"
  | "GET /agents/:agent_id/run-values"
  | "GET /agents/:agent_id/run-export/tests"
  | "GET /agents/:agent_id/run-export";

type RunRoutes =
  | "GET /agents/:agent_id/runs/:run_id"
  | "POST /agents/:agent_id/runs/:run_id/reruns"
  | "GET /agents/:agent_id/runs/:run_id/turns/:step/request"
  | "GET /agents/:agent_id/runs/:run_id/log"
  | "GET /agents/:agent_id/runs/:run_id/events"
  | `${"POST" | "DELETE"} /agents/:agent_id/runs/:run_id/feedback`
  | "POST /agents/:agent_id/runs/:run_id/cancel";

export const runRoutes = (deps: ConsoleDeps): HandlersOf<ListRoutes | RunRoutes> => ({
  ...listRoutes(deps),
  ...oneRunRoutes(deps),
});

function listRoutes(deps: ConsoleDeps): HandlersOf<ListRoutes> {
  const { store, queries } = deps;
  const inTurn =
    (orgId: string) =>
    <T>(work: () => Promise<T>) =>
      deps.within(orgId, () => deps.reads.run(asStranger(orgId), work));
  return {
    "GET /agents/:agent_id/runs"({ agent: { orgId, agentId }, query }) {
      const { limit, cursor, sort, ...filter } = paged(query);
      return queries.runs.list(orgId, agentId, { ...filterOf(filter), limit, cursor, sort });
    },

    "GET /agents/:agent_id/run-totals": ({ agent: { orgId, agentId }, query }) =>
      queries.runs.totals(orgId, agentId, filterOf(query)),

    "GET /agents/:agent_id/run-values": ({ agent: { orgId, agentId }, query }) =>
      queries.runs.values(orgId, agentId, filterOf(query)),

    async "GET /agents/:agent_id/run-export/tests"({ agent: { orgId, agentId }, query: { sort, ...filter } }) {
      const within = inTurn(orgId);
      const asked = { ...filterOf(filter), sort };
      const set = await within(() => runsToExport(queries, { orgId, agentId }, asked));
      return countTests(store, set, within);
    },

    async "GET /agents/:agent_id/run-export"({ agent: { orgId, agentId }, query, exchange }) {
      const { format, sort, ...filter } = query;
      // Runs that begin during the export would move the pages of a sorted list.
      const asked = filterOf({ to: new Date(await store.now()).toISOString(), ...filter });
      // Only the order of time continues below the runs that one answer reads: more runs get that order.
      const complete = sort === undefined || (await queries.runs.totals(orgId, agentId, asked)).since === null;
      const page = { ...asked, limit: EXPORTED_AT_ONCE, sort: complete ? sort : undefined };
      const within = inTurn(orgId);
      if (format === "tests") {
        const set = await within(() => runsToExport(queries, { orgId, agentId }, { ...asked, sort }));
        return download(
          exchange,
          { name: `tests-${agentId}.tar`, type: "application/x-tar" },
          tarOf(testFilesOf(store, set, within)),
        );
      }
      const read = (cursor: string | undefined) => within(() => queries.runs.list(orgId, agentId, { ...page, cursor }));
      return fileOf(exchange, { name: `runs-${agentId}`, format, read });
    },
  };
}

function oneRunRoutes(deps: ConsoleDeps): HandlersOf<RunRoutes> {
  const { store, runs, queries } = deps;

  /** What the store keeps of a run, and the functions that it used. */
  async function recorded({ orgId, agentId }: { orgId: string; agentId: string }, runId: string) {
    const parts = found(await queries.runs.parts(orgId, agentId, runId), "run");
    const { manifestHash } = parts.run;
    const manifest = manifestHash === undefined ? undefined : await store.runtimes.getManifest(agentId, manifestHash);
    return { parts, manifest };
  }

  return {
    async "GET /agents/:agent_id/runs/:run_id"({ agent, params }) {
      const { parts, manifest } = await recorded(agent, params.run_id);
      return traceOf(parts, manifest);
    },

    async "POST /agents/:agent_id/runs/:run_id/reruns"({ by, agent: { orgId, agentId }, params, exchange }) {
      const origin = found(await store.runs.get(agentId, params.run_id), "run");
      if (origin.startedAt === undefined && origin.result?.code === "refused") throw notKept();
      const caller = callerOf(by, agentId);
      await countQuery(exchange, caller, deps.rateLimit);
      const { runId, threadId } = await runs.start(caller, { ...repeated(origin), ...originOf(exchange) });
      await store.runs.recordRerun({ originId: origin.runId, runId, orgId });
      return { runId, threadId };
    },

    async "GET /agents/:agent_id/runs/:run_id/turns/:step/request"({ agent, params }) {
      const { parts, manifest } = await recorded(agent, params.run_id);
      return sentTurn(parts, params.step, manifest, deps);
    },

    async "GET /agents/:agent_id/runs/:run_id/log"({ agent: { orgId, agentId }, params, query }) {
      const { dialect, ...asked } = paged(query);
      const page = found(await queries.runs.log(orgId, agentId, params.run_id, asked), "run");
      return dialect === "local" ? { ...page, items: page.items.map(inLocalForm) } : page;
    },

    async "GET /agents/:agent_id/runs/:run_id/events"({ by, agent: { agentId }, params, exchange }) {
      const asked = lastEventId(exchange);
      const run = found(await runs.find(callerOf(by, agentId), params.run_id), "run");
      if (run.finishedAgoMs !== undefined && asked >= run.lastEventId) return noContent(exchange);
      // No client received an id beyond the end of the log: such a request gets the events that follow.
      const after = Math.min(asked, run.lastEventId);
      const view = { after, deltas: true, cancelWhenGone: false };
      return onPlace(deps, exchange, { owner: ownerOf(by), runId: run.runId, wait: false }, (place) =>
        streamRun(deps, exchange, run, view, place),
      );
    },

    async "POST /agents/:agent_id/runs/:run_id/feedback"({ by, agent: { agentId }, params, body }) {
      if (!(await runs.recordFeedback(callerOf(by, agentId), params.run_id, body))) throw notFound("run");
    },

    async "DELETE /agents/:agent_id/runs/:run_id/feedback"({ by, agent: { agentId }, params }) {
      if (!(await runs.deleteFeedback(callerOf(by, agentId), params.run_id))) throw notFound("run");
    },

    async "POST /agents/:agent_id/runs/:run_id/cancel"({ by, agent: { orgId, agentId }, params }) {
      const cancelled = found(await runs.cancel(callerOf(by, agentId), params.run_id), "run");
      const { runId, status } = cancelled;
      // The run's own audit entries name the caller who started it, not the member who cancels it.
      const entry = { action: "run.cancel_requested", orgId, agentId, runId, keyId: by.memberId };
      if (status === "queued" || status === "running") await store.audit.record([entry]);
      return cancelled;
    },
  };
}

const notKept = (): ServiceError =>
  new ServiceError("conflict", "A hook refused this query, so that its text and context are not kept. Send it again.");

/** The query of a run. The agent's instructions and functions are those of now, as for any query. */
function repeated(origin: RunRecord): Query {
  const { query, quoted, role, context, analysisMode, maxTokens, instructions, task, testCall } = origin.request;
  return {
    query,
    ...(quoted && { quoted }),
    context,
    analysisMode,
    maxTokens,
    repeats: origin,
    ...(role !== undefined && { role }),
    ...(origin.sessionId !== undefined && { sessionId: origin.sessionId }),
    ...(instructions !== undefined && { instructions }),
    ...(task && { task }),
    ...(testCall && { testCall }),
  };
}

const inLocalForm = (event: LogEvent): LogEvent => ({ ...event, body: toLocalJson(event.body) });
