import { isoTime, present } from "@patchbay/kit";
import type { LogEvent } from "@patchbay/protocol/console";
import { originOf } from "@patchbay/server/kernel/exchange";
import { toLocalJson } from "@patchbay/server/query/local-events";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { lastEventId, resumeRun } from "@patchbay/server/query/run-routes";
import { countQuery, keyedRun } from "@patchbay/server/query/query-routes";
import type { StreamDeps } from "@patchbay/server/query/stream-run";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Query } from "@patchbay/engine/run/api";
import { hasRole } from "../actors.ts";
import { callerOf, type ConsoleDeps, found, type Handlers, notFound, ownerOf, paged } from "../handler.ts";
import { countTests, testFilesOf } from "@patchbay/server/recording/test-file";
import { download, pagesOf, runsToExport, tarOf, textsOf, TYPES } from "./export.ts";
import type { AgentScope } from "../lists.ts";
import { filterOf } from "./filter.ts";
import { sentTurn } from "./sent-turn.ts";
import { traceOf } from "./trace.ts";

/** Runs that an export reads in one turn. */
const EXPORTED_AT_ONCE = 1_000;

/** Maximum runs per effects request. */
const MOST_EFFECTS = 100;

type RunDeps = StreamDeps & Pick<ConsoleDeps, "store" | "queries" | "models" | "within" | "reads" | "rateLimit">;

export const runRoutes = (deps: RunDeps) => ({ ...listRoutes(deps), ...oneRunRoutes(deps) });

function listRoutes(deps: RunDeps) {
  const { store, queries } = deps;
  const inTurn =
    (orgId: string) =>
    <T>(work: () => Promise<T>) =>
      deps.within(orgId, () => deps.reads.run(asStranger(orgId), work));
  return {
    "GET /agents/:agent_id/runs"({ agent, query }) {
      const { limit, cursor, sort, ...filter } = paged(query);
      return queries.runs.list(agent, { ...filterOf(filter), limit, cursor, sort });
    },

    "GET /agents/:agent_id/run-totals": ({ agent, query }) => queries.runs.totals(agent, filterOf(query)),

    "GET /agents/:agent_id/run-values": ({ agent, query }) => queries.runs.values(agent, filterOf(query)),

    "GET /agents/:agent_id/run-effects"({ agent: { orgId, agentId }, query }) {
      const manifestOf = (manifestHash: string) => store.runtimes.getManifest(agentId, manifestHash);
      const runIds = (query.runIds ?? "").split(",").slice(0, MOST_EFFECTS);
      return queries.runs.effects({ orgId, agentId, runIds, manifestOf });
    },

    async "GET /agents/:agent_id/run-export/tests"({ agent, query: { sort, ...filter } }) {
      const within = inTurn(agent.orgId);
      const asked = { ...filterOf(filter), sort };
      const set = await within(() => runsToExport(queries, agent, asked));
      return countTests(store, set, within);
    },

    async "GET /agents/:agent_id/run-export"({ agent, query, exchange }) {
      const { agentId } = agent;
      const { format, sort, ...filter } = query;
      // Runs that start during the export would shift the pages of a sorted list.
      const asked = filterOf({ to: isoTime(await store.now()), ...filter });
      // Only time order continues below the runs that one answer reads: larger exports get that order.
      const complete = sort === undefined || (await queries.runs.totals(agent, asked)).since === null;
      const page = { ...asked, limit: EXPORTED_AT_ONCE, sort: complete ? sort : undefined };
      const within = inTurn(agent.orgId);
      if (format === "tests") {
        const set = await within(() => runsToExport(queries, agent, { ...asked, sort }));
        return download(
          exchange,
          { name: `tests-${agentId}.tar`, type: "application/x-tar" },
          tarOf(testFilesOf(store, set, within)),
        );
      }
      const read = (cursor: string | undefined) => within(() => queries.runs.list(agent, { ...page, cursor }));
      const file = { name: `runs-${agentId}.${format}`, type: TYPES[format] };
      return download(exchange, file, textsOf(format, pagesOf(read)));
    },
  } satisfies Handlers;
}

function oneRunRoutes(deps: RunDeps) {
  const { store, runs, queries } = deps;

  /** What the store has about a run, and the functions that it used. */
  async function recorded(scope: AgentScope, runId: string) {
    const parts = found(await queries.runs.parts(scope, runId), "run");
    const { manifestHash } = parts.run;
    const manifest =
      manifestHash === undefined ? undefined : await store.runtimes.getManifest(scope.agentId, manifestHash);
    return { parts, manifest };
  }

  return {
    async "GET /agents/:agent_id/runs/:run_id"({ by, agent, params }) {
      const { parts, manifest } = await recorded(agent, params.run_id);
      // Texts of thrown errors may contain the owner's secrets, which viewers must not see.
      const errors = hasRole(by, "developer") ? parts.errors : new Map<string, never>();
      return traceOf({ ...parts, errors }, manifest);
    },

    async "POST /agents/:agent_id/runs/:run_id/reruns"({ by, agent: { orgId, agentId }, params, exchange }) {
      const caller = callerOf(by, agentId);
      const { idempotency, known } = await keyedRun(runs, caller, exchange, { rerunOf: params.run_id });
      async function start() {
        const origin = found(await store.runs.get(agentId, params.run_id), "run");
        if (origin.startedAt === undefined && origin.result?.code === "refused") throw notKept();
        await countQuery(exchange, caller, deps.rateLimit);
        return runs.start(caller, { ...repeated(origin), ...originOf(exchange), ...(idempotency && { idempotency }) });
      }
      const { runId, threadId } = known ?? (await start());
      await store.runs.recordRerun({ originId: params.run_id, runId, orgId });
      return { runId, threadId };
    },

    async "POST /agents/:agent_id/runs/:run_id/retry"({ by, agent: { agentId }, params, exchange }) {
      const caller = callerOf(by, agentId);
      const failed = found(await runs.find(caller, params.run_id), "run");
      await countQuery(exchange, caller, deps.rateLimit);
      const options = { byMember: true, reported: true, ...originOf(exchange) };
      const { runId, threadId } = found(await runs.retry(caller, failed.runId, options), "run");
      return { runId, threadId };
    },

    async "GET /agents/:agent_id/runs/:run_id/turns/:step/request"({ agent, params }) {
      const { parts, manifest } = await recorded(agent, params.run_id);
      return sentTurn(parts, params.step, manifest, deps);
    },

    async "GET /agents/:agent_id/runs/:run_id/log"({ agent, params, query }) {
      const { dialect, ...asked } = paged(query);
      const page = found(await queries.runs.log(agent, params.run_id, asked), "run");
      return dialect === "local" ? { ...page, items: page.items.map(inLocalForm) } : page;
    },

    async "GET /agents/:agent_id/runs/:run_id/events"({ by, agent: { agentId }, params, exchange }) {
      const asked = lastEventId(exchange);
      const run = found(await runs.find(callerOf(by, agentId), params.run_id), "run");
      return resumeRun(deps, exchange, run, { asked, owner: ownerOf(by) }, () => ({
        deltas: true,
        cancelWhenGone: false,
      }));
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
  } satisfies Handlers;
}

const notKept = (): ServiceError =>
  new ServiceError("conflict", "A hook refused this query, so that its text and context are not kept. Send it again.");

/** A run's query. The agent's instructions and functions are the current ones, as for any query. */
function repeated(origin: RunRecord): Query {
  const { query, quoted, role, context, analysisMode, maxTokens, instructions, task, testCall } = origin.request;
  return {
    query,
    context,
    analysisMode,
    maxTokens,
    repeats: origin,
    ...present({ quoted, role, sessionId: origin.sessionId, instructions, task, testCall }),
  };
}

const inLocalForm = (event: LogEvent): LogEvent => ({ ...event, body: toLocalJson(event.body) });
