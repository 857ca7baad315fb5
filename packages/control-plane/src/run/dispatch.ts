import {
  MESSAGES,
  parseJson,
  unknownFunctionMessage,
  type CallOutcome,
  type FunctionManifest,
  type JsonValue,
  type OperatorLimits,
  type RunEvent,
} from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { CallOrder, Delivery, FunctionGateway } from "../ports/function-gateway.ts";
import type { ModelCall } from "../ports/model-provider.ts";
import type { CallRecord, EarlierAttempt, RunRecord } from "../ports/records.ts";
import { outcomeMembers } from "./answer.ts";
import { callEntries, disagreement } from "./audit.ts";
import { createCallCounter, limitResult, NOT_RUN } from "./call-limits.ts";
import { nextHold } from "./hold.ts";
import { newId } from "./ids.ts";
import type { Journal } from "./journal.ts";
import { sessionNotFound } from "./run-failure.ts";
import { callsOf, type RunState } from "./state.ts";

/** No function's name is longer than 64: what a model makes up is kept only as far as it tells something. */
const LONGEST_NAME = 200;

const MAX_ATTEMPTS = 3;
/** A call is offered to one runtime after the other, less and less often: what takes none of them must not keep the run busy. */
const MAX_OFFERS = 10;
/** A run's own patience, over all its calls: what could not be placed for so long will not be a turn later. */
const OFFERS_MS = 12_000;
const SURE_OFFERS = 2;

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

const NOT_TAKEN: CallOutcome = {
  ok: false,
  code: "function_failed",
  message: "The function was not run: no runtime took the call.",
  rule: NOT_RUN.notTaken,
};

/** What the model asked for in one turn, checked and assigned to runtimes; not stored yet. */
export async function plan(
  state: RunState,
  step: number,
  calls: readonly ModelCall[],
  { gateway, limits }: { gateway: FunctionGateway; limits: OperatorLimits },
  signal: AbortSignal,
): Promise<CallRecord[]> {
  const records = checkCalls(state, step, calls, limits);
  // Side by side: where no runtime is connected they wait for one together.
  const allowed = records.filter(({ outcome }) => !outcome);
  await Promise.all(allowed.map((record) => place(record, state.run, gateway, signal)));
  return records;
}

const ANSWERED: CallOutcome = {
  ok: false,
  code: "cancelled",
  message: "The function was not run: the model gave its answer in the same turn.",
  rule: NOT_RUN.answered,
};

/** Calls next to the answer: recorded like any other, never run. */
export function planNone(
  state: RunState,
  step: number,
  calls: readonly ModelCall[],
  limits: OperatorLimits,
): CallRecord[] {
  return checkCalls(state, step, calls, limits).map((record) => ({ outcome: ANSWERED, ...record }));
}

function checkCalls(state: RunState, step: number, calls: readonly ModelCall[], limits: OperatorLimits): CallRecord[] {
  const records: CallRecord[] = [];
  const counter = createCallCounter(state, limits);
  for (const [position, call] of calls.entries()) {
    const parsed = call.arguments.trim() === "" ? { ok: true as const, value: {} } : parseJson(call.arguments);
    const record: CallRecord = {
      callId: newId("call"),
      step,
      position,
      modelCallId: call.id,
      functionName: call.name.slice(0, LONGEST_NAME),
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

/** The control plane's half of the gate: a function the role may not call does not exist, and arguments must be JSON. */
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

/** Assigns the call to a runtime; a call of an agent without one ends here, and `lostSession` finds it. */
async function place(call: CallRecord, run: RunRecord, gateway: FunctionGateway, signal: AbortSignal): Promise<void> {
  const instanceId = await gateway.assign(run.agentId, run.manifestHash!, call.functionName, { signal });
  if (instanceId === undefined) call.outcome = NO_RUNTIME;
  else call.instanceId = instanceId;
}

/** True when a call of the turn found no runtime: the run ends, since no further call could find one. */
export function lostSession(calls: readonly CallRecord[]): boolean {
  return calls.some(({ outcome }) => outcome && !outcome.ok && outcome.rule === NOT_RUN.noRuntime);
}

export function calledEvents(records: readonly CallRecord[]): RunEvent[] {
  const called = records.map((call): RunEvent => ({
    type: "toolCall",
    toolName: call.functionName,
    toolCallId: call.callId,
    parameters: call.arguments,
  }));
  return [...called, ...records.filter((call) => call.outcome).map(resultEvent)];
}

export function resultEvent(call: CallRecord): RunEvent {
  const { functionName: toolName, callId: toolCallId, outcome } = call;
  const parameters = outcome?.input;
  return {
    type: "toolResult",
    toolName,
    toolCallId,
    ...(parameters !== undefined && { parameters }),
    ...outcomeMembers(call),
  };
}

export interface SettleDeps {
  gateway: FunctionGateway;
  journal: Journal;
  clock: Clock;
  limits: OperatorLimits;
  /** Time left until the run's deadline. */
  remainingMs(): number;
  onSettled(call: CallRecord, ms: number): void;
  /** The runtime refused, by a rule of this side too, what this side had let through. */
  onDisagreement(call: CallRecord, rule: string): void;
}

/**
 * Runs the calls of one turn side by side until each has an outcome, stored as it comes. `resumed` calls were perhaps sent by
 * an earlier owner of the run: their runtime is asked first. Throws `agent_session_not_found` when, after all have ended, no
 * runtime is left.
 */
export async function settle(
  state: RunState,
  calls: readonly CallRecord[],
  deps: SettleDeps,
  options: { resumed: boolean; signal: AbortSignal },
): Promise<void> {
  const open = calls.filter((call) => !call.outcome);
  const done = await Promise.allSettled(open.map((call) => settleOne(state, call, deps, options)));
  options.signal.throwIfAborted();
  for (const one of done) if (one.status === "rejected") throw one.reason;
  if (lostSession(calls)) throw sessionNotFound();
  const doubtful = open.some((call) => call.outcome === UNKNOWN_OUTCOME);
  if (doubtful && !(await deps.gateway.connected(state.run.agentId))) throw sessionNotFound();
}

async function settleOne(
  state: RunState,
  call: CallRecord,
  deps: SettleDeps,
  { resumed, signal }: { resumed: boolean; signal: AbortSignal },
): Promise<void> {
  const { run } = state;
  const began = performance.now();
  const definition = state.functions.get(call.functionName)!;
  let ask = resumed;
  const spentMs = state.offeredMs;
  let refusedAt: number | undefined;
  for (;;) {
    const delivery = await hand(call, { run, definition, deps, ask, signal });
    ask = false;
    if (delivery.kind === "outcome") {
      Object.assign(call, limitResult(state, delivery.outcome, deps.limits));
    } else if (delivery.kind === "unknown" && !(definition.idempotent && call.attempt < MAX_ATTEMPTS)) {
      call.outcome = UNKNOWN_OUTCOME;
    } else if (call.attempt >= MAX_OFFERS || (call.attempt >= SURE_OFFERS && state.offeredMs > OFFERS_MS)) {
      call.outcome = NOT_TAKEN;
    } else {
      refusedAt ??= performance.now();
      const endedAt = deps.clock.now();
      // Surely not run, or safe to run again: the next runtime is stored before anything is sent to it.
      if (call.attempt > 1) await deps.clock.sleep(offerPauseMs(call.attempt), { signal });
      state.offeredMs = Math.max(state.offeredMs, spentMs + performance.now() - refusedAt);
      nextAttempt(call, delivery.kind, endedAt);
      await place(call, run, deps.gateway, signal);
      if (!call.outcome) {
        await deps.journal.write({ calls: [call] });
        continue;
      }
    }
    const alarm = disagreement(run, call);
    if (alarm) deps.onDisagreement(call, alarm.rule);
    const audit = [...callEntries(run, call), ...(alarm ? [alarm] : [])];
    const entry = { calls: [call], events: [resultEvent(call)], audit };
    // The last of a turn's calls brings the next turn.
    const hold = callsOf(state, call.step).every(({ outcome }) => outcome) ? nextHold(state) : undefined;
    const { heldMicros } = await deps.journal.write({ ...entry, ...(hold && { hold }) });
    if (hold) state.heldMicros = heldMicros;
    deps.gateway.acknowledge({ agentId: run.agentId, callId: call.callId, instanceId: call.instanceId! });
    deps.onSettled(call, performance.now() - began);
    return;
  }
}

/** What the last attempt came to stays with the call. */
function nextAttempt(call: CallRecord, ended: EarlierAttempt["ended"], endedAt: number): void {
  const { attempt, instanceId, sentAt } = call;
  const last = { attempt, instanceId: instanceId!, ...(sentAt !== undefined && { sentAt }), endedAt, ended };
  call.earlier = [...(call.earlier ?? []), last];
  delete call.sentAt;
  call.attempt++;
}

/** The first two offers follow one another at once: as a rule another runtime is there. */
const offerPauseMs = (attempt: number): number => Math.min(2_000, 25 * 2 ** attempt);

function hand(
  call: CallRecord,
  input: { run: RunRecord; definition: FunctionManifest; deps: SettleDeps; ask: boolean; signal: AbortSignal },
): Promise<Delivery> {
  const { run, definition, deps, ask, signal } = input;
  const order: CallOrder = {
    callId: call.callId,
    attempt: call.attempt,
    instanceId: call.instanceId!,
    agentId: run.agentId,
    functionName: call.functionName,
    arguments: call.arguments,
    context: run.request.context,
    threadId: run.threadId,
    runId: run.runId,
    fence: run.fence,
    timeoutMs: Math.max(0, Math.min(definition.timeoutMs, deps.remainingMs())),
    ...(run.role !== undefined && { role: run.role }),
    ...(run.sessionId !== undefined && { sessionId: run.sessionId }),
  };
  const onProgress = (data: JsonValue): void =>
    deps.journal.live({ type: "toolProgress", toolCallId: call.callId, data });
  const onSent = (at: number): void => void (call.sentAt = at);
  const options = { signal, onProgress, onSent };
  return ask ? deps.gateway.recover(order, options) : deps.gateway.deliver(order, options);
}
