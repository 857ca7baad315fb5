import { type ErrorReport, type JsonObject, LIMITS, type QueryResponse } from "@patchbay/protocol";
import type { TestCallResult } from "@patchbay/protocol/console";
import { hashJson } from "../../http/kernel/body.ts";
import { originOf } from "../../http/kernel/exchange.ts";
import { askedBy } from "../../http/query/query-body.ts";
import { cancelsWhenGone, countQuery, faultsOfKey } from "../../http/query/query-routes.ts";
import { onPlace, streamRun, waitsForPlace } from "../../http/query/stream-run.ts";
import { refusalOf } from "../../ports/refusal.ts";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import { callerOf, type ConsoleDeps, type HandlersOf, ownerOf } from "../handler.ts";
import { directCall, type RunHandle } from "../../run/api.ts";
import type { TimedCall } from "../runs/queries.ts";

type PlaygroundRoutes = "POST /agents/:agent_id/playground" | TestCallRoute | `${TestCallRoute}-stream`;

type TestCallRoute = "POST /agents/:agent_id/functions/:function_name/test-calls";

/** Queries and single function calls by a member. */
export function playgroundRoutes(deps: ConsoleDeps): HandlersOf<PlaygroundRoutes> {
  return {
    /** The rules are those of the query API's stream; a member's stream always has deltas. */
    async "POST /agents/:agent_id/playground"({ by, agent: { agentId }, body, exchange }) {
      const caller = callerOf(by, agentId);
      const { query } = askedBy(body);
      const key = exchange.c.req.header("Idempotency-Key");
      const faults = key === undefined ? [] : faultsOfKey(key);
      if (faults.length > 0) throw invalid(faults);
      const idempotency = key === undefined ? undefined : { key, bodyHash: hashJson(body) };
      const known = idempotency && (await deps.runs.join(caller, idempotency.key, idempotency.bodyHash));
      if (!known) await countQuery(exchange, caller, deps.rateLimit);
      const wanted = { owner: ownerOf(by), wait: waitsForPlace(caller), ...(known && { runId: known.runId }) };
      return onPlace(deps, exchange, wanted, async (place) => {
        const { instructions } = body;
        const asked = {
          ...query,
          ...originOf(exchange),
          ...(instructions !== undefined && { instructions }),
          ...(idempotency && { idempotency }),
        };
        const run = known ?? (await deps.runs.start(caller, asked));
        if (!known) place.follow(run.runId);
        const view = { after: 0, deltas: true, cancelWhenGone: cancelsWhenGone(exchange) };
        return streamRun(deps, exchange, run, view, place);
      });
    },

    /** Calls one function as a role, in a run like any other. */
    async "POST /agents/:agent_id/functions/:function_name/test-calls"(request) {
      const { orgId, agentId } = request.agent;
      const run = await startTestCall(deps, request);
      const result = await deps.runs.result(run, { signal: request.signal });
      if (!result) throw handedOver(run.runId);
      const parts = await deps.queries.runs.parts(orgId, agentId, run.runId);
      const call = parts?.calls[0];
      return resultOf(result, call, call && parts.errors.get(call.callId));
    },

    /** The same, for a page that shows the progress and can cancel. */
    async "POST /agents/:agent_id/functions/:function_name/test-calls-stream"(request) {
      const { by, agent, exchange } = request;
      const wanted = { owner: ownerOf(by), wait: waitsForPlace(callerOf(by, agent.agentId)) };
      return onPlace(deps, exchange, wanted, async (place) => {
        const run = await startTestCall(deps, request);
        place.follow(run.runId);
        return streamRun(deps, exchange, run, { after: 0, deltas: true, cancelWhenGone: false }, place);
      });
    },
  };
}

type TestCallRequest = Parameters<HandlersOf<TestCallRoute>[TestCallRoute]>[0];

async function startTestCall(
  { runs, rateLimit }: Pick<ConsoleDeps, "runs" | "rateLimit">,
  { by, agent: { agentId }, params, body, exchange }: Omit<TestCallRequest, "signal">,
): Promise<RunHandle> {
  const caller = callerOf(by, agentId);
  const input = body.arguments as JsonObject;
  const context = contextOf(body.context as JsonObject | undefined);
  await countQuery(exchange, caller, rateLimit);
  return runs.start(caller, {
    ...directCall(params.function_name, input),
    ...(body.role && { role: body.role }),
    ...(context && { context }),
    ...originOf(exchange),
  });
}

/** The outcome of the call, or the error of a run that ended before its call. */
function resultOf(result: QueryResponse, call: TimedCall | undefined, thrown: ErrorReport | undefined): TestCallResult {
  const { runId } = result;
  if (!call?.outcome) {
    const { code = null, errorMessage, executionTimeMs } = result;
    const nowhere = { callId: null, runtime: null };
    return { runId, ok: false, redacted: [], code, errorMessage, rule: null, ...nowhere, durationMs: executionTimeMs };
  }
  const { outcome, createdAt, finishedAt = createdAt, callId, instanceId: runtime = null } = call;
  const about = { runId, durationMs: finishedAt - createdAt, callId, runtime };
  if (outcome.ok) {
    const { value, redacted = [] } = outcome;
    return { ...about, ok: true, value, redacted, code: null, errorMessage: null, rule: null };
  }
  const { code, message } = outcome;
  const failure = { code, errorMessage: message, rule: refusalOf(outcome) ?? null };
  return { ...about, ok: false, redacted: [], ...failure, ...(thrown && { error: thrown }) };
}

function contextOf(context: JsonObject | undefined): JsonObject | undefined {
  if (context && Buffer.byteLength(JSON.stringify(context)) > LIMITS.contextBytes)
    throw invalid([{ path: "context", message: `must have at most ${LIMITS.contextBytes} bytes` }]);
  return context;
}

function handedOver(runId: string): ServiceError {
  return new ServiceError(
    "unavailable",
    `This replica is stopping and the call continues on another one. See its outcome in run ${runId} before you repeat it.`,
  );
}
