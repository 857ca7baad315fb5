import { present } from "@patchbay/kit";
import { type FlowFault, type FlowMode, type QueryResponse, type RunErrorCode } from "@patchbay/protocol";
import type { CallRecord, RunRecord, TurnRecord } from "../ports/records.ts";
import { refusalOf } from "../ports/refusal.ts";
import type { RunContext } from "./run-context.ts";

/** A run's turns and calls. `leftOut`: calls that are not in the list. */
interface Did {
  turns: readonly unknown[];
  calls: readonly CallRecord[];
  leftOut?: number;
}

interface Noted {
  known?: boolean;
  sentMs?: number;
  interrupted?: RunErrorCode;
}

/** Reports what happens in one run to metrics, the log and the live view. */
export function observeRun(
  run: Pick<RunRecord, "runId" | "agentId" | "role" | "keyId" | "requestId" | "request" | "waitedMs">,
  { metrics, observe, clock, log }: Pick<RunContext, "metrics" | "observe" | "clock" | "log">,
) {
  const { runId, agentId, role, request, waitedMs = 0 } = run;
  const ofRole = role === undefined ? {} : { role };
  const about = () => ({ at: clock.now(), runId, agentId, ...ofRole });
  /**
   * `sentMs`: time since the call was sent to a runtime. `interrupted`: the code with which the run ended before the
   * call.
   */
  function noteCall(call: CallRecord, { known = true, sentMs, interrupted }: Noted): void {
    const { callId, functionName, attempt, instanceId, outcome } = call;
    const failure = outcome && !outcome.ok ? { code: outcome.code, rule: refusalOf(outcome) } : {};
    const { code, rule } = { code: interrupted, rule: undefined, ...failure };
    // A name that the model made up is model text, which neither the log nor a label holds.
    const name = known ? { functionName } : {};
    metrics.callEnded({ agentId, outcome: code ?? "succeeded", ...name, ...present({ rule, ms: sentMs }) });
    const ms = Math.round(sentMs ?? 0);
    log.debug("call ended", { callId, ...name, attempt, ...present({ instanceId, code, rule }), ms });
    if (sentMs === undefined) return;
    const ok = code === undefined ? { ok: true } : { ok: false, code };
    observe({ kind: "call", functionName, ms: sentMs, ...about(), ...ok });
  }
  return {
    started: (): void => observe({ kind: "query", text: request.query, ...about() }),
    attemptEnded: metrics.modelTurn,
    turnEnded: (turn: Pick<TurnRecord, "provider" | "model" | "usage" | "costMicros">): void =>
      metrics.turnBilled({ provider: turn.provider, model: turn.model }, turn.usage, turn.costMicros),
    callEnded: (call: CallRecord, sentMs: number): void => noteCall(call, { sentMs }),
    /** The run ended with a code before the call had an outcome. */
    callInterrupted(call: CallRecord, interrupted: RunErrorCode): void {
      const sentMs = call.sentAt === undefined ? {} : { sentMs: Math.max(0, clock.now() - call.sentAt) };
      noteCall(call, { interrupted, ...sentMs });
    },
    /** The call was refused before it was sent to a runtime. `known`: the agent has such a function. */
    callRefused: (call: CallRecord, options: { known: boolean }): void => noteCall(call, options),
    /** The runtime denied by `rule` a call that the control plane had allowed by the same rule. */
    accessDisagreed({ callId, functionName }: CallRecord, rule: string): void {
      metrics.accessDisagreed();
      log.error("access disagreement", { callId, functionName, rule, ...ofRole });
    },
    /** The data-flow rules do not allow the call. */
    flowDisallowed({ callId, functionName }: CallRecord, mode: FlowMode, { rule, member }: FlowFault): void {
      metrics.flowDisallowed({ mode, rule });
      log.info("data-flow rules do not allow a call", { callId, functionName, mode, rule, member });
    },
    /** `did` is absent for a run that did not begin, or whose state could not be loaded. */
    ended(result: QueryResponse, did?: Did): void {
      const { success, code, executionTimeMs, usage } = result;
      const ms = Math.max(0, executionTimeMs - waitedMs);
      metrics.runEnded(code ?? "succeeded", ms);
      log.info("run ended", { ...senderOf(run), ...endOf(result, did), ms, ...(waitedMs > 0 && { waitedMs }) });
      const tokens = usage.inputTokens + usage.outputTokens;
      if (success) observe({ kind: "done", ms: executionTimeMs, tokens, ...about() });
      else observe({ kind: "failed", code: code ?? "internal", ms: executionTimeMs, ...about() });
    },
  };
}

export type RunObserver = ReturnType<typeof observeRun>;

const senderOf = ({ requestId, keyId, role, request }: Pick<RunRecord, "requestId" | "keyId" | "role" | "request">) =>
  present({ requestId, keyId, keyLabel: request.keyLabel, role });

/** The end fields in a run's log line: counts and codes, never conversation text. */
function endOf({ success, code, usage }: QueryResponse, did: Did | undefined) {
  const { turns = [], calls = [], leftOut = 0 } = did ?? {};
  const { inputTokens, outputTokens, costUsd } = usage;
  return {
    status: success ? "succeeded" : code === "cancelled" ? "cancelled" : "failed",
    ...present({ code }),
    steps: turns.length,
    calls: calls.length + leftOut,
    denied: calls.filter(({ outcome }) => outcome && refusalOf(outcome) !== undefined).length,
    inputTokens,
    outputTokens,
    costUsd,
  };
}
