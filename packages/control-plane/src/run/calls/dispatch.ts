import {
  type CallOutcome,
  type FunctionManifest,
  MESSAGES,
  type JsonValue,
  parseJson,
  type RunEvent,
  unknownFunctionMessage,
} from "@patchbay/protocol";
import type { CallOrder, Delivery } from "../../ports/function-gateway.ts";
import type { ModelCall } from "../../ports/model-provider.ts";
import { type CallRecord, callerOf, type EarlierAttempt, type RunRecord } from "../../ports/records.ts";
import { outcomeFields } from "../answer.ts";
import { nextReservation } from "../loop/cost.ts";
import { sessionNotFound } from "../run-failure.ts";
import { newId } from "../start/new-run.ts";
import { type ActiveRun, callsOf, type RunState } from "../state.ts";
import { callEntries, disagreement } from "./journal.ts";
import { createCallCounter, limitResult, NOT_RUN } from "./limits.ts";

/** Valid names have at most 64 characters. More of an invalid name says nothing useful. */
const MAX_NAME_CHARS = 200;

/** Attempts of an idempotent function whose outcome is unknown. */
const MAX_ATTEMPTS = 3;
/** A call is offered to one runtime after another with growing pauses. Without a limit a call that no runtime accepts would block the run. */
const MAX_OFFERS = 10;
/** Time for offers over all calls of a run: when no runtime has accepted calls for so long, a later turn would fail too. */
const OFFERS_MS = 12_000;
/** Offers that each call gets although that time is used up. */
const MIN_OFFERS = 2;

const UNKNOWN_OUTCOME: CallOutcome = {
  ok: false,
  code: "outcome_unknown",
  message:
    "The function may have run: its connection was lost before it answered. Do not call it again; check or report.",
};

/** The call was not run: the agent has no connected runtime. */
const NO_RUNTIME: CallOutcome = {
  ok: false,
  code: "function_failed",
  message: MESSAGES.agent_session_not_found,
  rule: NOT_RUN.noRuntime,
};

const NOT_ACCEPTED: CallOutcome = {
  ok: false,
  code: "function_failed",
  message: "The function was not run: no runtime accepted the call.",
  rule: NOT_RUN.notTaken,
};

const ANSWERED: CallOutcome = {
  ok: false,
  code: "cancelled",
  message: "The function was not run: the model gave its answer in the same turn.",
  rule: NOT_RUN.answered,
};

/** Checks the calls of one turn and assigns them to runtimes. Stores nothing. */
export async function plan(state: RunState, calls: readonly ModelCall[], active: ActiveRun): Promise<CallRecord[]> {
  const records = checkCalls(state, calls, active);
  const allowed = records.filter(({ outcome }) => !outcome);
  // Concurrently: when no runtime is connected, all calls wait for one at the same time.
  await Promise.all(allowed.map((record) => assign(record, state.run, active)));
  return records;
}

/** Records the calls of a turn that gave its answer. They are never run. */
export function planNone(
  state: RunState,
  calls: readonly ModelCall[],
  active: Pick<ActiveRun, "limits">,
): CallRecord[] {
  return checkCalls(state, calls, active).map((record) => ({ outcome: ANSWERED, ...record }));
}

function checkCalls(state: RunState, calls: readonly ModelCall[], { limits }: Pick<ActiveRun, "limits">): CallRecord[] {
  const records: CallRecord[] = [];
  const counter = createCallCounter(state, limits);
  for (const [position, call] of calls.entries()) {
    const parsed = call.arguments.trim() === "" ? { ok: true as const, value: {} } : parseJson(call.arguments);
    const record: CallRecord = {
      callId: newId("call"),
      step: state.turns.length,
      position,
      modelCallId: call.id,
      functionName: call.name.slice(0, MAX_NAME_CHARS),
      arguments: parsed.ok ? (parsed.value as JsonValue) : call.arguments,
      attempt: 1,
    };
    const refusal = counter.refuse(record) ?? refuse(state, call.name, parsed);
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
function refuse(state: RunState, name: string, parsed: ReturnType<typeof parseJson>): CallOutcome | undefined {
  if (!state.functions.has(name))
    return {
      ok: false,
      code: "unknown_function",
      message: unknownFunctionMessage(name),
      rule: state.hidden.has(name) ? "roles" : "unknown",
    };
  if (!parsed.ok)
    return { ok: false, code: "invalid_arguments", message: `The arguments ${parsed.message.replace(/^is/, "are")}.` };
  return undefined;
}

/** Assigns the call to a runtime. Without a connected runtime the call ends here, and `lostSession` detects it. */
async function assign(
  call: CallRecord,
  run: RunRecord,
  { gateway, signal }: Pick<ActiveRun, "gateway" | "signal">,
): Promise<void> {
  const instanceId = await gateway.assign(run.agentId, run.manifestHash!, call.functionName, { signal });
  if (instanceId === undefined) call.outcome = NO_RUNTIME;
  else call.instanceId = instanceId;
}

/** True when a call of the turn found no runtime. The run then ends, because no further call could find one. */
function lostSession(calls: readonly CallRecord[]): boolean {
  return calls.some(({ outcome }) => outcome && !outcome.ok && outcome.rule === NOT_RUN.noRuntime);
}

/** The events of planned calls, with the results of the calls that were refused. */
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
  return {
    type: "toolResult",
    toolName,
    toolCallId,
    ...(parameters !== undefined && { parameters }),
    ...outcomeFields(call),
  };
}

/**
 * Runs the calls of one turn concurrently until each has an outcome, and stores each outcome when it arrives. `resumed`: an earlier
 * owner of the run may have sent the calls, so their runtime is asked first. Throws `agent_session_not_found` after all calls have
 * ended when no runtime is left.
 */
export async function settle(
  state: RunState,
  calls: readonly CallRecord[],
  active: ActiveRun,
  { resumed }: { resumed: boolean },
): Promise<void> {
  const open = calls.filter((call) => !call.outcome);
  const done = await Promise.allSettled(open.map((call) => settleOne(state, call, active, resumed)));
  active.signal.throwIfAborted();
  for (const one of done) if (one.status === "rejected") throw one.reason;
  if (lostSession(calls)) throw sessionNotFound();
  const isUnknown = open.some((call) => call.outcome === UNKNOWN_OUTCOME);
  if (isUnknown && !(await active.gateway.connected(state.run.agentId))) throw sessionNotFound();
}

async function settleOne(state: RunState, call: CallRecord, active: ActiveRun, resumed: boolean): Promise<void> {
  const { clock, limits, journal, signal } = active;
  const began = performance.now();
  const { idempotent } = state.functions.get(call.functionName)!;
  const offeredBefore = state.offeredMs;
  let rejectedAt: number | undefined;
  for (let recover = resumed; !call.outcome; recover = false) {
    const delivery = await deliver(state, call, active, { recover });
    if (delivery.kind === "outcome") {
      Object.assign(call, limitResult(state, delivery.outcome, limits));
    } else if (delivery.kind === "unknown" && !(idempotent && call.attempt < MAX_ATTEMPTS)) {
      // The handler may have run. Running it again could, for example, refund an order twice.
      call.outcome = UNKNOWN_OUTCOME;
    } else if (call.attempt >= MAX_OFFERS || (call.attempt >= MIN_OFFERS && state.offeredMs > OFFERS_MS)) {
      call.outcome = NOT_ACCEPTED;
    } else {
      rejectedAt ??= performance.now();
      const endedAt = clock.now();
      if (call.attempt > 1) await clock.sleep(offerPauseMs(call.attempt), { signal });
      state.offeredMs = Math.max(state.offeredMs, offeredBefore + performance.now() - rejectedAt);
      nextAttempt(call, delivery.kind, endedAt);
      await assign(call, state.run, active);
      // The next runtime is stored before anything is sent to it: after a crash the new owner must ask the right runtime.
      if (!call.outcome) await journal.write({ calls: [call] });
    }
  }
  await storeOutcome(state, call, active);
  active.observer.callEnded(call, performance.now() - began);
}

async function storeOutcome(state: RunState, call: CallRecord, active: ActiveRun): Promise<void> {
  const { run } = state;
  const alarm = disagreement(run, call);
  if (alarm) active.observer.accessDisagreed(call, alarm.rule);
  const audit = [...callEntries(run, call), ...(alarm ? [alarm] : [])];
  // The last outcome of a turn completes the next model request, so that its credit is reserved in the same commit.
  const reserve = callsOf(state, call.step).every(({ outcome }) => outcome) ? nextReservation(state) : undefined;
  const entry = { calls: [call], events: [resultEvent(call)], audit, ...(reserve && { reserve }) };
  const { reservedMicros } = await active.journal.write(entry);
  if (reserve) state.reservedMicros = reservedMicros;
  // Only now: a runtime forgets an acknowledged result, and a crash before the commit would lose it.
  active.gateway.acknowledge({ agentId: run.agentId, callId: call.callId, instanceId: call.instanceId! });
}

/** Moves on to the next attempt and keeps how the last one ended. */
function nextAttempt(call: CallRecord, ended: EarlierAttempt["ended"], endedAt: number): void {
  const { attempt, instanceId, sentAt } = call;
  const last = { attempt, instanceId: instanceId!, ...(sentAt !== undefined && { sentAt }), endedAt, ended };
  call.earlier = [...(call.earlier ?? []), last];
  delete call.sentAt;
  call.attempt++;
}

/** The second offer follows without a pause: as a rule another runtime is connected. */
const offerPauseMs = (attempt: number): number => Math.min(2_000, 25 * 2 ** attempt);

/** Sends the call to its runtime, or with `recover` asks the runtime for the outcome of a call that was sent before. */
function deliver(
  { run, functions }: RunState,
  call: CallRecord,
  { gateway, journal, remainingMs, signal }: ActiveRun,
  { recover }: { recover: boolean },
): Promise<Delivery> {
  const { timeoutMs }: FunctionManifest = functions.get(call.functionName)!;
  const order: CallOrder = {
    callId: call.callId,
    attempt: call.attempt,
    instanceId: call.instanceId!,
    agentId: run.agentId,
    functionName: call.functionName,
    arguments: call.arguments,
    threadId: run.threadId,
    runId: run.runId,
    fence: run.fence,
    timeoutMs: Math.max(0, Math.min(timeoutMs, remainingMs())),
    ...callerOf(run.request),
    ...(run.sessionId !== undefined && { sessionId: run.sessionId }),
  };
  const options = {
    signal,
    onProgress: (data: JsonValue) => journal.live({ type: "toolProgress", toolCallId: call.callId, data }),
    onSent: (at: number) => void (call.sentAt = at),
  };
  return recover ? gateway.recover(order, options) : gateway.deliver(order, options);
}
