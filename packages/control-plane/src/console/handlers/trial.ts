import type { JsonObject, QueryResponse } from "@patchbay/protocol";
import { LIMITS } from "@patchbay/protocol";
import type { TrialResult } from "@patchbay/protocol/console";
import { countQuery } from "../../http/rate-limit.ts";
import type { TimedCall } from "../../ports/console-runs.ts";
import { refusalOf } from "../../ports/refusal.ts";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import { trialQuery } from "../../run/trial.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { agentOf } from "./agent-of.ts";
import { callerOf } from "./caller-of.ts";

const LONGEST_NAME = 200;

/** Calls one function as a role, by a run like any other. */
export function trialHandlers({
  store,
  runs,
  rateLimit,
}: Pick<
  ConsoleDeps,
  "store" | "runs" | "rateLimit"
>): HandlersOf<"POST /agents/:agent_id/functions/:function_name/try"> {
  return {
    async "POST /agents/:agent_id/functions/:function_name/try"({ by, params, body, exchange, signal }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const functionName = params.function_name.slice(0, LONGEST_NAME);
      const caller = callerOf(by, agentId);
      const input = body.arguments as JsonObject;
      const context = contextOf(body.context as JsonObject | undefined);
      await countQuery(exchange, caller, rateLimit);
      const run = await runs.start(caller, {
        query: trialQuery(functionName, input),
        ...(body.role && { role: body.role }),
        ...(context && { context }),
        analysisMode: false,
        trial: { functionName, arguments: input },
        requestId: exchange.requestId,
      });
      const result = await runs.result(run, { signal });
      if (!result) throw movedOn(run.runId);
      const parts = await store.console.runs.parts(by.orgId, agentId, run.runId);
      return resultOf(result, parts?.calls[0]);
    },
  };
}

/** What became of the call; of a run that ended before there was one, why. */
function resultOf(result: QueryResponse, call: TimedCall | undefined): TrialResult {
  const { runId } = result;
  if (!call?.outcome) {
    const { code = null, errorMessage, executionTimeMs } = result;
    return { runId, ok: false, redacted: [], code, errorMessage, rule: null, durationMs: executionTimeMs };
  }
  const { outcome, createdAt, finishedAt = createdAt } = call;
  const about = { runId, durationMs: finishedAt - createdAt };
  if (outcome.ok) {
    const { value, redacted = [] } = outcome;
    return { ...about, ok: true, value, redacted, code: null, errorMessage: null, rule: null };
  }
  const { code, message } = outcome;
  return { ...about, ok: false, redacted: [], code, errorMessage: message, rule: refusalOf(outcome) ?? null };
}

function contextOf(context: JsonObject | undefined): JsonObject | undefined {
  if (context && Buffer.byteLength(JSON.stringify(context)) > LIMITS.contextBytes)
    throw invalid([{ path: "context", message: `must have at most ${LIMITS.contextBytes} bytes` }]);
  return context;
}

function movedOn(runId: string): ServiceError {
  return new ServiceError(
    "unavailable",
    `This replica is stopping and the call goes on elsewhere. Its outcome will stand in run ${runId}; do not repeat it before you looked.`,
  );
}
