import type { FunctionManifest, Manifest, ServiceHooks } from "@patchbay/protocol";
import { hooksOf } from "../ports/function-gateway.ts";
import { type ChosenModel, type Message, type ModelFunction, PROTECTED_MEMBERS } from "../ports/model-provider.ts";
import type { CallRecord, RunRecord, TurnRecord, TurnTiming } from "../ports/records.ts";
import type { History } from "../ports/run-store.ts";
import { visibleFunctions } from "./access.ts";
import { storedResultBytes } from "./call-limits.ts";
import { budgetOf, firstShown } from "./compact.ts";
import { BYTES_PER_TOKEN, sizeOf } from "./estimate.ts";
import type { JournalEntry } from "./journal.ts";
import { preface, resultText } from "./prompt.ts";
import type { Spent } from "./spent.ts";
import { respondFunction } from "./structured.ts";

/** What a run did so far, as the store has it: an ending tells of it, however early it comes. */
export interface Progress {
  readonly run: RunRecord;
  readonly turns: TurnRecord[];
  readonly calls: CallRecord[];
  readonly warnings: Set<string>;
  /**
   * The turn that the model is being asked for, and what attempts at it cost that do not count. `unstored`: it came and could not
   * be used; it is stored with the end of the run.
   */
  readonly asking: { turn?: TurnTiming; discarded?: Spent; unstored?: JournalEntry };
  /** Calls of the run that were not loaded. */
  readonly leftOut?: number;
}

/** Everything the loop knows of a run; rebuilt from the store after a crash. */
export interface RunState extends Progress {
  /** The model that is asked; one of `fallback` once it failed. */
  model: ChosenModel;
  /** Models that are tried in this order when the current one fails. */
  readonly fallback: ChosenModel[];
  readonly functions: ReadonlyMap<string, FunctionManifest>;
  /** Names that exist but not for this role: only the audit log tells them from names that do not exist. */
  readonly hidden: ReadonlySet<string>;
  readonly shown: readonly ModelFunction[];
  /** The last of `shown`, whose call is the answer; absent where the answer is a text. */
  readonly respond?: ModelFunction;
  readonly history: History;
  /** The `beforeAnswer` hooks that each text of the model passes, in order. */
  readonly answerHooks: readonly ServiceHooks[];
  /** Tokens of conversation that the model is sent at most; lowered when a model says that it was too much. */
  mostTokens: number;
  /** What the last turn had of input, as a multiple of its estimate; 1 where it had less. */
  inputRatio: number;
  /** Units of the conversation that are left out, oldest first. */
  dropped: number;
  /** The first turn whose echo holds: before it, what the turns followed has changed. */
  echoesFrom: number;
  /** Time that went into offering calls which no runtime took. */
  offeredMs: number;
  /** Micro-USD known to be held for the turn that comes next. */
  heldMicros: number;
  /** Bytes of results that the run has stored. */
  resultBytes: number;
}

export function createProgress(run: RunRecord, turns: TurnRecord[] = [], calls: CallRecord[] = []): Progress {
  const warnings = new Set([...run.request.warnings, ...turns.flatMap((turn) => turn.warnings)]);
  return { run, turns, calls, warnings, asking: {} };
}

export function createState(
  progress: Progress,
  {
    model,
    fallback = [],
    manifest,
    history,
    heldMicros = 0,
  }: {
    model: ChosenModel;
    fallback?: ChosenModel[];
    manifest: Manifest;
    history: History;
    heldMicros?: number;
  },
): RunState {
  const { run } = progress;
  const { visible, shown, respond } = functionsOf(run, manifest);
  const functions = new Map(visible.map((one) => [one.name, one]));
  return {
    ...progress,
    model,
    fallback,
    functions,
    hidden: new Set(manifest.functions.map((one) => one.name).filter((name) => !functions.has(name))),
    shown,
    ...(respond && { respond }),
    history,
    answerHooks: answerHooksOf(run, manifest),
    mostTokens: Infinity,
    inputRatio: 1,
    // As the run's first turn was asked for: a run that is resumed keeps the echoes of its turns where that still holds.
    dropped: firstShown(history, historyBytes(run, shown, model)),
    echoesFrom: 0,
    offeredMs: 0,
    heldMicros,
    resultBytes: storedResultBytes(progress.calls),
  };
}

/** The functions that exist for a run, and what its model is shown of them. */
export function functionsOf({ role, request: { responseSchema } }: RunRecord, manifest: Manifest) {
  const visible = visibleFunctions(manifest, role);
  const respond = responseSchema && respondFunction(responseSchema, visible);
  return { visible, shown: [...visible.map(shownOf), ...(respond ? [respond] : [])], respond };
}

/** Bytes of earlier runs that a run's model is sent at most. */
export const historyBytes = (run: RunRecord, shown: readonly ModelFunction[], model: ChosenModel): number =>
  budgetOf(run.request, shown, model).historyTokens * BYTES_PER_TOKEN;

/** A trial has no model whose texts could be checked. */
function answerHooksOf({ request, manifestHash = "" }: RunRecord, manifest: Manifest): ServiceHooks[] {
  return request.trial ? [] : hooksOf({ manifest, manifestHash }).filter((one) => one.beforeAnswer);
}

const shownFunctions = new WeakMap<FunctionManifest, ModelFunction>();

/** The same object for the same function in every run, so that adapters can keep what they made of its schema. */
function shownOf(one: FunctionManifest): ModelFunction {
  let shown = shownFunctions.get(one);
  if (!shown) {
    const { name, description, inputSchema, effect, protectedMembers } = one;
    shown = {
      name,
      description,
      inputSchema,
      effect,
      ...(protectedMembers && { [PROTECTED_MEMBERS]: protectedMembers }),
    };
    shownFunctions.set(one, shown);
  }
  return shown;
}

/** The run's own first message. */
export function queryMessage({ run: { request } }: RunState, omittedTurns: boolean): Message {
  const told = preface(request, omittedTurns);
  return { role: "user", text: request.query, ...(told !== undefined && { preface: told }) };
}

/** A turn with the results of its calls in the order asked: wires pair them by place. Some results are stored with the turn. */
export function turnMessages(state: RunState, { step, messages }: TurnRecord): Message[] {
  const calls = callsOf(state, step);
  const stored = messages.flatMap((message) => (message.role === "results" ? message.results : []));
  if (calls.length === 0) return messages;
  if (stored.length === 0) return [...messages, { role: "results", results: calls.map(resultOf) }];
  const ids = messages.flatMap((message) => (message.role === "assistant" ? message.calls.map(({ id }) => id) : []));
  const results = [...stored, ...calls.map(resultOf)].toSorted((a, b) => ids.indexOf(a.callId) - ids.indexOf(b.callId));
  return [...messages.filter(({ role }) => role !== "results"), { role: "results", results }];
}

export function callsOf(state: Progress, step: number): CallRecord[] {
  return state.calls.filter((call) => call.step === step).sort((a, b) => a.position - b.position);
}

function resultOf(call: CallRecord) {
  const outcome = call.outcome ?? { ok: false as const, code: "outcome_unknown" as const, message: "No outcome" };
  return { callId: call.modelCallId, name: call.functionName, ...resultText(outcome) };
}

/** A longer run would fill the history of a model by itself. */
const MOST_HISTORY_BYTES = 100_000 * BYTES_PER_TOKEN;

/** What later runs of the thread are shown of this one: no plans, no opaque blocks. A very long run leaves its question and its answer. */
export function historyOf(state: Progress, answer: string): Message[] {
  const question: Message = { role: "user", text: state.run.request.query };
  const messages: Message[] = [question];
  for (const turn of state.turns) {
    const calls = callsOf(state, turn.step);
    if (calls.length === 0) continue;
    // The call that was the answer has no result: a provider refuses a conversation with a call left open.
    const answered = new Set(calls.map(({ modelCallId }) => modelCallId));
    for (const message of turn.messages)
      if (message.role === "assistant")
        messages.push({
          role: "assistant",
          text: message.text,
          calls: message.calls.filter(({ id }) => answered.has(id)),
        });
    messages.push({ role: "results", results: calls.map(resultOf) });
  }
  const last: Message = { role: "assistant", text: answer, calls: [] };
  messages.push(last);
  return sizeOf(messages) > MOST_HISTORY_BYTES ? [question, last] : messages;
}
