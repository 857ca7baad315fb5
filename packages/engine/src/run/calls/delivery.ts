import type { TraceContext } from "@patchbay/protocol";
import { type JsonValue, present } from "@patchbay/kit";
import type { AttemptAddress, CallOrder, Delivery } from "../../ports/function-gateway.ts";
import { callerOf } from "../../ports/callers.ts";
import { type CallRecord, isUnsure, type RunRecord } from "../../ports/records.ts";
import { grantOf } from "../../ports/store/approvals.ts";
import type { ActiveRun, RunState } from "../state.ts";
import { recovered } from "./attempts.ts";
import { timeLeftMs, whileAway } from "./detached.ts";
import type { FlowVerdict } from "./flow.ts";

/** `trace`: the call's span. */
export type ActiveCall = ActiveRun & { trace?: TraceContext };

export const addressOf = ({ agentId }: RunRecord, { callId, attempt, instanceId }: CallRecord): AttemptAddress => ({
  agentId,
  callId,
  attempt,
  instanceId: instanceId!,
});

/** Sends the call to its runtime, or with `recover` asks the runtime for the outcome of a call that was sent before. */
export async function deliver(
  { run, functions }: RunState,
  call: CallRecord,
  active: ActiveCall,
  { recover, flow }: { recover: boolean; flow: FlowVerdict | undefined },
): Promise<Delivery> {
  const { gateway, journal, signal, trace, callerTokens } = active;
  const manifest = functions.get(call.functionName)!;
  const order: CallOrder = {
    ...addressOf(run, call),
    functionName: call.functionName,
    arguments: call.arguments,
    threadId: run.threadId,
    runId: run.runId,
    fence: run.fence,
    timeoutMs: timeLeftMs(call, manifest, active),
    ...present({ detached: manifest.detached }),
    ...callerOf(run.request),
    ...present({ callerToken: manifest.needsCallerToken ? callerTokens.of(run.runId) : undefined }),
    ...(isUnsure(call) && { unsure: true }),
    ...present({ sessionId: run.sessionId, flow: flow?.flow }),
    ...present({ approval: call.approval && grantOf(call.approval), afterMs: call.earlier?.at(-1)?.endedAt, trace }),
  };
  const options = {
    signal,
    onProgress(data: JsonValue): void {
      if (!manifest.flow?.withheld) journal.live({ type: "toolProgress", toolCallId: call.callId, data });
    },
    onSent: (at: number) => void (call.sentAt = at),
  };
  if (!recover) return await gateway.deliver(order, options);
  const answer = await whileAway(await gateway.recover(order, options), run, call, active);
  return recovered(answer, run);
}
