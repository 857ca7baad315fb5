import { monotonicMs } from "@patchbay/kit/time";
import { type CallFrame, type CallOutcome, type ErrorReport } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { type FlowKeys, provedFlow } from "../flow/tags.ts";
import type { Invocation } from "../invocation.ts";
import type { Log } from "../log.ts";
import type { ControlPlaneConnection } from "./connection.ts";

/** A call that waits for a free slot or runs. */
export interface OpenCall {
  /** The call's first frame, with the highest attempt that the control plane has named. */
  frame: CallFrame;
  readonly receivedAt: number;
  readonly abort: AbortController;
  /** The connection that asked for the call last: progress and the result go there. */
  connection: ControlPlaneConnection;
  /** Of a detached call whose handler has begun: the frame for the next connection, which says so or has its progress. */
  report?: string;
}

/** How a call ended. `error`: what the owner's code threw, if that is reported. */
export interface Ended {
  outcome: CallOutcome;
  error?: ErrorReport;
}

export function toInvocation({ frame, receivedAt }: OpenCall, keys: FlowKeys): Invocation {
  const { callId, attempt, context, threadId, runId, role, caller, sessionId, approval, unsure } = frame;
  return {
    functionName: frame.function,
    arguments: frame.arguments,
    context,
    threadId,
    runId,
    callId,
    attempt,
    timeoutMs: Math.max(0, Math.ceil(frame.timeoutMs - (monotonicMs() - receivedAt))),
    ...present({ role, caller, sessionId, approval, unsure, flow: frame.flow && provedFlow(frame, frame.flow, keys) }),
  };
}

/**
 * Logs a call's end with ids and codes, never with arguments or results. `known`: the service has the function. Any
 * other name may be a text from the model. `ms` includes the wait for a free slot.
 */
export function logEnd(log: Log, { frame, receivedAt }: OpenCall, outcome: CallOutcome, known: boolean): void {
  const { runId, callId, function: functionName, role, attempt } = frame;
  const { code, rule } = outcome.ok ? {} : outcome;
  const ms = Math.round(monotonicMs() - receivedAt);
  log.debug("call ended", {
    runId,
    callId,
    ...(known && { functionName }),
    attempt,
    ...present({ role, code, rule }),
    ms,
  });
}
