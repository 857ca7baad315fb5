import { monotonicMs } from "@patchbay/kit/time";
import { type CallOutcome, MESSAGES, type RunEvent, unknownFunctionMessage } from "@patchbay/protocol";
import { type JsonValue, type ParsedJson, present, readArguments } from "@patchbay/kit";
import { type AttemptAddress, RunMoved } from "../../ports/function-gateway.ts";
import type { ModelCall } from "../../ports/model-provider.ts";
import type { CallRecord, RunRecord } from "../../ports/records.ts";
import { callFailure } from "../../ports/refusal.ts";
import { outcomeFields } from "../answer.ts";
import { nextReservation } from "../loop/cost.ts";
import { noSession } from "../no-session.ts";
import { newId } from "../start/new-run.ts";
import { type ActiveRun, callsOf, type RunState } from "../state.ts";
import * as approvals from "./approval.ts";
import * as attempts from "./attempts.ts";
import { type ActiveCall, addressOf, deliver } from "./delivery.ts";
import { isRunning, noteRunning } from "./detached.ts";
import { type FlowVerdict, judgeFlow, withLabels } from "./flow.ts";
import { permittedCall } from "./permits.ts";
import { callEntries, deprecatedUse, disagreement } from "./journal.ts";
import { createCallCounter, limitResult, NOT_RUN } from "./limits.ts";

/** Valid names have at most 64 characters. More from an invalid name says nothing useful. */
const MAX_NAME_CHARS = 200;

/** The call was not run: the agent has no connected runtime. */
const NO_RUNTIME = callFailure("function_failed", MESSAGES.agent_session_not_found, NOT_RUN.noRuntime);

const ANSWERED = callFailure(
  "cancelled",
  "The function was not run: the model gave its answer in the same turn.",
  NOT_RUN.answered,
);

/** Checks one turn's calls and assigns them to runtimes. Stores nothing. */
export async function plan(state: RunState, calls: readonly ModelCall[], active: ActiveRun): Promise<CallRecord[]> {
  const records = checkCalls(state, calls, active);
  const allowed = records.filter(({ outcome }) => !outcome);
  // Concurrently: when no runtime is connected, all calls wait for one at the same time.
  await Promise.all(allowed.map((record) => assign(record, state.run, active)));
  return records;
}

/** Records the calls in a turn that gave its answer. They never run. */
export function planNone(state: RunState, calls: readonly ModelCall[], active: ActiveRun): CallRecord[] {
  return checkCalls(state, calls, active).map((record) => ({ outcome: ANSWERED, ...record }));
}

function checkCalls(state: RunState, calls: readonly ModelCall[], { limits }: ActiveRun): CallRecord[] {
  const records: CallRecord[] = [];
  const counter = createCallCounter(state, limits);
  for (const [position, call] of calls.entries()) {
    const parsed = readArguments(call.arguments);
    const record: CallRecord = {
      callId: newId("call"),
      step: state.turns.length,
      position,
      modelCallId: call.id,
      functionName: call.name.slice(0, MAX_NAME_CHARS),
      arguments: parsed.ok ? (parsed.value as JsonValue) : call.arguments,
      attempt: 1,
    };
    const refusal =
      counter.refuse(record) ?? refuse(state, call.name, parsed) ?? approvals.rejectedBefore(state.calls, record);
    if (refusal) record.outcome = refusal;
    counter.add(record);
    records.push(record);
  }
  return records;
}

/**
 * The control plane's access check; the runtime checks again. A function that the role may not call is refused like one that does
 * not exist, so that a model cannot find out about it.
 */
function refuse(state: RunState, name: string, parsed: ParsedJson): CallOutcome | undefined {
  if (!state.functions.has(name))
    return callFailure("unknown_function", unknownFunctionMessage(name), state.hidden.has(name) ? "roles" : "unknown");
  if (!parsed.ok) return callFailure("invalid_arguments", parsed.message);
  return undefined;
}

/** Assigns the call to a runtime. Without a connected runtime the call ends here, and `lostSession` detects it. */
async function assign(call: CallRecord, run: RunRecord, { gateway, signal, callerTokens }: ActiveRun): Promise<void> {
  // The token, which only runs with a function that needs it have, leaves this process over its own connections only.
  const near = callerTokens.of(run.runId) !== undefined;
  const instanceId = await gateway.assign(run.agentId, run.manifestHash!, call.functionName, { signal, near });
  if (instanceId === undefined) call.outcome = attempts.outcomeSoFar(call) ?? NO_RUNTIME;
  else call.instanceId = instanceId;
}

/** True when a call in the turn found no runtime. The run then ends, because no further call could find one. */
function lostSession(calls: readonly CallRecord[]): boolean {
  return calls.some(({ outcome }) => outcome && !outcome.ok && outcome.rule === NOT_RUN.noRuntime);
}

/** The events for planned calls, with refused calls' results. */
export function calledEvents(records: readonly CallRecord[]): RunEvent[] {
  const called = records.map((call): RunEvent => ({
    type: "toolCall",
    toolName: call.functionName,
    toolCallId: call.callId,
    parameters: call.arguments,
  }));
  return [...called, ...records.filter((call) => call.outcome).map(resultEvent)];
}

function resultEvent(call: CallRecord): RunEvent {
  const { functionName: toolName, callId: toolCallId, outcome } = call;
  const parameters = outcome?.input;
  return { type: "toolResult", toolName, toolCallId, ...present({ parameters }), ...outcomeFields(call) };
}

/**
 * Runs one turn's calls concurrently until each has an outcome, waits for an approval or runs detached, and stores each
 * outcome when it arrives. True when the run has to wait for calls. `resumed`: an earlier owner of the run may have sent the calls, so their runtime is
 * asked first. Throws `agent_session_not_found` after all calls have ended when no runtime is left.
 */
export async function settle(
  state: RunState,
  calls: readonly CallRecord[],
  active: ActiveRun,
  { resumed }: { resumed: boolean },
): Promise<boolean> {
  if (resumed) await approvals.readDecisions(state, calls, active);
  const open = calls.filter((call) => !call.outcome && !approvals.isPending(call));
  const { segment } = active;
  const done = await Promise.allSettled(
    open.map((call) =>
      segment
        ? segment.call(call, (trace) => settleOne(state, call, { ...active, trace }, resumed))
        : settleOne(state, call, active, resumed),
    ),
  );
  active.signal.throwIfAborted();
  for (const one of done) if (one.status === "rejected") throw one.reason;
  const { agentId } = state.run;
  if (lostSession(calls)) throw await noSession(agentId, active);
  if (calls.some(isRunning)) return true;
  const mayBeLost = open.some(
    ({ earlier, outcome }) =>
      earlier?.some(({ ended }) => ended !== "approval") ||
      (outcome?.ok === false && outcome.code === "outcome_unknown"),
  );
  if (mayBeLost && !(await active.gateway.connected(agentId))) throw await noSession(agentId, active);
  return calls.some(approvals.isPending);
}

/** An attempt whose answer its runtime keeps: neither acknowledged nor followed by another attempt there. */
interface Kept {
  answer?: AttemptAddress | undefined;
}

async function settleOne(state: RunState, call: CallRecord, active: ActiveCall, resumed: boolean): Promise<void> {
  const kept: Kept = {};
  try {
    await attempt(state, call, active, { resumed, kept });
  } catch (error) {
    // The run ends without the call's outcome. If it has moved, its next owner asks for the answer.
    const isMoved = error instanceof RunMoved || active.signal.reason instanceof RunMoved;
    if (kept.answer && !isMoved) active.gateway.acknowledge(kept.answer);
    throw error;
  }
}

async function attempt(
  state: RunState,
  call: CallRecord,
  active: ActiveCall,
  { resumed, kept }: { resumed: boolean; kept: Kept },
): Promise<void> {
  const { clock, limits, remainingMs, signal } = active;
  const began = monotonicMs();
  const manifest = state.functions.get(call.functionName);
  if (!manifest) return await storeOutcome(state, Object.assign(call, { outcome: attempts.goneOutcome(call) }), active);
  await using permitted = permittedCall(state.run, call, { ...active, manifest });
  let offering: { since: number; offeredMs: number } | undefined;
  let flow: FlowVerdict | undefined;
  const decided = await approvals.readDecision(state, call, active);
  if (decided && !call.outcome)
    await beginAttempt(state, call, active, { end: { ended: "approval" }, endedAt: clock.now(), decided });
  for (let recover = resumed && !decided; !call.outcome; recover = false) {
    // A recovered attempt may have been sent before.
    const waitMs = recover ? 0 : attempts.pauseLeftMs(call, clock.now());
    if (waitMs > 0) await clock.sleep(waitMs, { signal });
    if (!recover && !flow) {
      flow = await judgeFlow(state, call, manifest, active);
      if (flow?.refusal) call.outcome = flow.refusal;
      if (call.outcome) break;
    }
    const answer = await permitted.deliver(() => deliver(state, call, active, { recover, flow }), { recover });
    const delivery = withLabels(state, manifest, answer);
    if (delivery.kind === "running") return await noteRunning(call, manifest, active);
    // The runtime treats the next attempt as the acknowledgement.
    if (delivery.kind !== "undelivered" && kept.answer?.instanceId === call.instanceId) kept.answer = undefined;
    if (delivery.kind === "outcome") kept.answer = addressOf(state.run, call);
    if (await approvals.requestApproval(state, call, delivery, active, flow?.fault))
      return active.gateway.acknowledge(addressOf(state.run, call));
    const { offeredMs } = state;
    const next = attempts.afterDelivery(call, delivery, { manifest, remainingMs: remainingMs(), offeredMs });
    if ("outcome" in next) {
      Object.assign(call, delivery.kind === "outcome" ? limitResult(state, next.outcome, limits) : next);
      continue;
    }
    const endedAt = clock.now();
    offering = delivery.kind === "undelivered" ? (offering ?? { since: monotonicMs(), offeredMs }) : undefined;
    if (offering) {
      const pauseMs = attempts.offerPauseMs(call);
      if (pauseMs > 0) await clock.sleep(pauseMs, { signal });
      state.offeredMs = Math.max(state.offeredMs, offering.offeredMs + monotonicMs() - offering.since);
    }
    await beginAttempt(state, call, active, { end: next.again, endedAt });
    // At the same runtime, a late acknowledgement could meet the next result.
    if (!kept.answer || call.outcome || call.instanceId === kept.answer.instanceId) continue;
    active.gateway.acknowledge(kept.answer);
    kept.answer = undefined;
  }
  // A call that is only reported, or approved, has run, and the record says so.
  const asked = call.approval?.flow;
  const fault = flow?.fault ?? (asked && { rule: asked.rule, member: asked.member });
  if (fault && call.outcome) call.outcome = { ...call.outcome, flowFault: fault };
  await storeOutcome(state, call, active, decided);
  active.observer.callEnded(call, monotonicMs() - began);
}

async function beginAttempt(
  { run }: RunState,
  call: CallRecord,
  active: ActiveRun,
  { end, endedAt, decided }: { end: attempts.AttemptEnd; endedAt: number; decided?: approvals.Decided },
): Promise<void> {
  attempts.nextAttempt(call, end, endedAt);
  await assign(call, run, active);
  if (call.outcome) return;
  // The next runtime is stored before anything is sent to it: after a crash the new owner must ask the right runtime.
  await approvals.writeDecided(active.journal, call, { calls: [call] }, decided);
}

async function storeOutcome(
  state: RunState,
  call: CallRecord,
  active: ActiveRun,
  decided?: approvals.Decided,
): Promise<void> {
  const { run } = state;
  const alarm = disagreement(run, call);
  if (alarm) active.observer.accessDisagreed(call, alarm.rule);
  const deprecated = deprecatedUse(run, call, state.functions.get(call.functionName));
  const audit = [...callEntries(run, call), ...deprecated, ...(alarm ? [alarm] : [])];
  // A turn's last outcome completes the next model request, so that its credit is reserved in the same commit.
  const reserve = callsOf(state, call.step).every(({ outcome }) => outcome) ? nextReservation(state) : undefined;
  const entry = { calls: [call], events: [resultEvent(call)], audit, ...(reserve && { reserve }) };
  const { reservedMicros } = await approvals.writeDecided(active.journal, call, entry, decided);
  if (reserve) state.reservedMicros = reservedMicros;
  // Only now: a runtime forgets an acknowledged result, and a crash before the commit would lose it.
  active.gateway.acknowledge(addressOf(run, call));
}
