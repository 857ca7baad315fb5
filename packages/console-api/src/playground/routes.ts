import type { ErrorReport, QueryResponse } from "@patchbay/protocol";
import { type JsonObject, present } from "@patchbay/kit";
import type { TestCallResult } from "@patchbay/protocol/console";
import { originOf } from "@patchbay/server/kernel/exchange";
import { askedBy, requireSmall } from "@patchbay/server/query/query-body";
import { cancelsWhenGone, countQuery, keyedRun } from "@patchbay/server/query/query-routes";
import { type StreamDeps, streamStarted, waitsForSlot } from "@patchbay/server/query/stream-run";
import { refusalOf } from "@patchbay/engine/ports/refusal";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { callerOf, type ConsoleDeps, type ConsoleRequest, type Handlers, ownerOf } from "../handler.ts";
import { directCall, type RunHandle } from "@patchbay/engine/run/api";
import type { TimedCall } from "../runs/queries.ts";

type PlaygroundDeps = StreamDeps & Pick<ConsoleDeps, "queries" | "rateLimit">;

/** A member's queries and test calls. */
export function playgroundRoutes(deps: PlaygroundDeps) {
  return {
    /** Follows the rules for the query API's stream; a member's stream always has deltas. */
    async "POST /agents/:agent_id/playground"({ by, agent: { agentId }, body, exchange }) {
      const caller = callerOf(by, agentId);
      const { query } = askedBy(body);
      const { idempotency, known } = await keyedRun(deps.runs, caller, exchange, body);
      if (!known) await countQuery(exchange, caller, deps.rateLimit);
      const cancelWhenGone = cancelsWhenGone(exchange);
      const more = { ...originOf(exchange), ...present({ instructions: body.instructions, idempotency }) };
      const asked = { ...query, ...more, cancelWhenGone, resumable: cancelWhenGone };
      const start = async () => known ?? (await deps.runs.start(caller, asked));
      const wanted = { owner: ownerOf(by), wait: waitsForSlot(caller), known };
      return streamStarted(deps, exchange, wanted, start, { deltas: true, cancelWhenGone });
    },

    /** Calls one function as a role, in a normal run. */
    async "POST /agents/:agent_id/functions/:function_name/test-calls"(request) {
      const { start } = await testCall(deps, request);
      const run = await start();
      const result = await deps.runs.result(run, { signal: request.signal });
      if (!result) throw handedOver(run.runId);
      const parts = await deps.queries.runs.parts(request.agent, run.runId);
      const call = parts?.calls[0];
      return resultOf(result, call, call && parts.errors.get(call.callId));
    },

    /** The same, for a page that shows progress and can cancel. */
    async "POST /agents/:agent_id/functions/:function_name/test-calls-stream"(request) {
      const { by, agent, exchange } = request;
      const { known, start } = await testCall(deps, request);
      const wanted = { owner: ownerOf(by), wait: waitsForSlot(callerOf(by, agent.agentId)), known };
      return streamStarted(deps, exchange, wanted, start, { deltas: true, cancelWhenGone: false });
    },
  } satisfies Handlers;
}

type TestCallRequest = ConsoleRequest<"POST /agents/:agent_id/functions/:function_name/test-calls">;

/** How to start a test call, unless its Idempotency-Key has already started the `known` run. */
async function testCall(
  { runs, rateLimit }: Pick<ConsoleDeps, "runs" | "rateLimit">,
  { by, agent: { agentId }, params, body, exchange }: Omit<TestCallRequest, "signal">,
): Promise<{ known?: RunHandle | undefined; start: () => Promise<RunHandle> }> {
  const caller = callerOf(by, agentId);
  const input = body.arguments as JsonObject;
  const context = body.context as JsonObject | undefined;
  if (context) requireSmall(context);
  const { idempotency, known } = await keyedRun(runs, caller, exchange, { testCall: params.function_name, ...body });
  async function start(): Promise<RunHandle> {
    if (known) return known;
    await countQuery(exchange, caller, rateLimit);
    return runs.start(caller, {
      ...directCall(params.function_name, input),
      ...originOf(exchange),
      ...present({ role: body.role || undefined, context, idempotency }),
    });
  }
  return { known, start };
}

/** The call's outcome, or the error if the run ended before its call. */
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

function handedOver(runId: string): ServiceError {
  return new ServiceError(
    "unavailable",
    `This replica is stopping and the call continues on another one. See its outcome in run ${runId} before you repeat it.`,
  );
}
