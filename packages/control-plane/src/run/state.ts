import type { FunctionManifest, Manifest, ServiceHooks } from "@patchbay/protocol";
import { hooksOf } from "../ports/function-gateway.ts";
import {
  type ChosenModel,
  type ModelFunction,
  type ModelRequest,
  RESTRICTED_FIELDS,
  type TokenUsage,
} from "../ports/model-provider.ts";
import type { CallRecord, RunRecord, RunRequest, TurnRecord, TurnTiming } from "../ports/records.ts";
import type { History } from "../ports/run-store.ts";
import type { Segment } from "../ports/tracing.ts";
import { storedResultBytes } from "./calls/limits.ts";
import type { Journal, JournalEntry } from "./calls/journal.ts";
import { budgetOf, BYTES_PER_TOKEN, firstShown } from "./loop/compact.ts";
import { respondFunction } from "./loop/structured.ts";
import { visibleFunctions } from "./role-check.ts";
import type { RunObserver } from "./observer.ts";
import type { RunContext } from "./run-context.ts";

/** What the work on one run needs besides its state. `log` adds the ids of the run. */
export interface ActiveRun extends RunContext {
  journal: Journal;
  observer: RunObserver;
  /** Aborts when the run is cancelled, times out or moves to another process. */
  signal: AbortSignal;
  /** Time until the run's deadline. */
  remainingMs(): number;
  segment?: Segment;
}

/** Tokens and cost of one or more attempts. */
export interface Spent {
  usage: TokenUsage;
  costMicros: number;
}

/** What a run has done so far, as the store has it. Enough to report its end, however early it ends. */
export interface Progress {
  readonly run: RunRecord;
  readonly turns: TurnRecord[];
  readonly calls: CallRecord[];
  readonly warnings: Set<string>;
  /**
   * The turn that the model is asked for. `discarded`: what its failed attempts cost. `unstored`: an unusable turn, which is
   * stored together with the end of the run.
   */
  readonly asking: { turn?: TurnTiming | undefined; discarded?: Spent | undefined; unstored?: JournalEntry };
  /** Number of calls that were not loaded. */
  readonly leftOut?: number;
}

/** The state of the agent loop; rebuilt from the store after a crash. */
export interface RunState extends Progress {
  /** The model that is asked; replaced by one of `fallback` when it fails. */
  model: ChosenModel;
  /** The next models to ask, in order. */
  readonly fallback: ChosenModel[];
  readonly functions: ReadonlyMap<string, FunctionManifest>;
  /** Functions that exist but not for this role. Only the audit log distinguishes them from functions that do not exist. */
  readonly hidden: ReadonlySet<string>;
  readonly shown: readonly ModelFunction[];
  /** The last of `shown`, whose call is the answer; absent when the answer is a text. */
  readonly respond?: ModelFunction;
  /** Texts of the service's example queries for the run's role. */
  readonly exampleQueries: readonly string[];
  readonly history: History;
  /** The `beforeAnswer` hooks that check each text of the model, in order. */
  readonly answerHooks: readonly ServiceHooks[];
  /**
   * The next turn, once its request was built. Undefined after a change of that request, and not deleted: V8 makes every later access
   * to an object slow once a property was deleted from it.
   */
  next?: NextTurn | undefined;
  /** Upper limit on the tokens of conversation; lowered when a model rejects a request as too long. */
  maxTokens: number;
  /** Input tokens of the last turn as a multiple of their estimate; at least 1. */
  inputRatio: number;
  /** Units of the conversation that are left out, oldest first. */
  dropped: number;
  /** The first turn whose echo is still valid: the messages before it have changed since the earlier turns. */
  echoesFrom: number;
  /** Time spent on offering calls that no runtime accepted. */
  offeredMs: number;
  /** Micro-USD known to be reserved for the next turn. */
  reservedMicros: number;
  /** Bytes of results that the run has stored. */
  resultBytes: number;
}

/** One model request to be made. The same value is priced, reserved for and sent. */
export interface NextTurn {
  request: ModelRequest;
  /** The first turn of a run that plans first. */
  planning: boolean;
  /** No step may follow: the model must answer. */
  lastChance: boolean;
  dropped: number;
  echoesFrom: number;
  /** Says what was left out of the conversation. */
  warning?: string;
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
    reservedMicros = 0,
    next,
  }: Pick<RunState, "model" | "history"> &
    Partial<Pick<RunState, "fallback" | "reservedMicros" | "next">> & { manifest: Manifest },
): RunState {
  const { run } = progress;
  const { visible, shown, respond } = functionsOf(run, manifest);
  const functions = new Map(visible.map((one) => [one.name, one]));
  return {
    model,
    fallback,
    functions,
    hidden: new Set(manifest.functions.map((one) => one.name).filter((name) => !functions.has(name))),
    shown,
    next,
    exampleQueries: (manifest.exampleQueries ?? []).flatMap(({ query, role }) => (role === run.role ? [query] : [])),
    history,
    answerHooks: answerHooksOf(run, manifest),
    maxTokens: Infinity,
    inputRatio: 1,
    // The value of the run's first turn: a resumed run whose conversation is still cut there keeps the echoes of its turns.
    dropped: firstShown(history, historyBytes(run, shown, model)),
    echoesFrom: 0,
    offeredMs: 0,
    reservedMicros,
    resultBytes: storedResultBytes(progress.calls),
    ...(respond && { respond }),
    ...progress,
  };
}

/** Adds a turn; the next request includes it. */
export function pushTurn(state: RunState, turn: TurnRecord): void {
  state.turns.push(turn);
  state.next = undefined;
}

/** The functions that exist for a run, and the ones that its model is shown: without the deprecated ones. */
export function functionsOf(
  { role, request: { responseSchema, task } }: { role?: string; request: RunRequest },
  manifest: Manifest,
) {
  const visible = task ? [] : visibleFunctions(manifest, role);
  const respond = responseSchema && respondFunction(responseSchema, visible);
  return { visible, shown: [...shownFunctions(visible), ...(respond ? [respond] : [])], respond };
}

/** Of the functions that exist for a role, what a model is shown. */
export const shownFunctions = (visible: readonly FunctionManifest[]): ModelFunction[] =>
  visible.filter(({ deprecated }) => deprecated === undefined).map(shownOf);

/** The earlier runs that a run's model may be sent: those of its thread, or for a repeated run those that its origin had. */
export const historyScope = ({ role, subject, threadId, request: { rerunOf } }: RunRecord) => ({
  role,
  subject,
  threadId,
  ...rerunOf?.history,
});

/** Upper limit on the bytes of earlier runs that a run's model is sent. */
export const historyBytes = (run: RunRecord, shown: readonly ModelFunction[], model: ChosenModel): number =>
  budgetOf(run.request, shown, model).historyTokens * BYTES_PER_TOKEN;

/** A test call has no model whose texts could be checked. */
function answerHooksOf({ request, manifestHash = "" }: RunRecord, manifest: Manifest): ServiceHooks[] {
  return request.testCall ? [] : hooksOf({ manifest, manifestHash }).filter((one) => one.beforeAnswer);
}

const shownBefore = new WeakMap<FunctionManifest, ModelFunction>();

/** Returns the same object for the same function in every run, because adapters cache what they make of its schema. */
function shownOf(one: FunctionManifest): ModelFunction {
  let shown = shownBefore.get(one);
  if (!shown) {
    const { name, description, inputSchema, effect, examples, restrictedFields } = one;
    shown = {
      name,
      description,
      inputSchema,
      effect,
      ...(examples && { examples }),
      ...(restrictedFields && { [RESTRICTED_FIELDS]: restrictedFields }),
    };
    shownBefore.set(one, shown);
  }
  return shown;
}

/** The calls of one turn, in the order in which the model asked for them. */
export function callsOf(state: Pick<Progress, "calls">, step: number): CallRecord[] {
  return state.calls.filter((call) => call.step === step).sort((a, b) => a.position - b.position);
}
