import {
  type FlowLabel,
  type FunctionManifest,
  type Manifest,
  type ServiceHooks,
  withIncluding,
} from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { hooksOf } from "../ports/function-gateway.ts";
import {
  type ChosenModel,
  type ModelFunction,
  type ModelRequest,
  RESTRICTED_FIELDS,
  type TokenUsage,
} from "../ports/model-provider.ts";
import type { CallRecord, RunRecord, RunRequest, TurnRecord, TurnTiming } from "../ports/records.ts";
import type { History } from "../ports/store/run-store.ts";
import type { Segment } from "../ports/tracing.ts";
import { storedResultBytes } from "./calls/limits.ts";
import type { Journal, JournalEntry } from "./calls/journal.ts";
import { budgetOf, BYTES_PER_TOKEN, firstShown } from "./loop/compact.ts";
import { respondFunction } from "./loop/structured.ts";
import { visibleFunctions } from "./role-check.ts";
import type { RunObserver } from "./observer.ts";
import type { RunContext } from "./run-context.ts";

/** What the work on one run needs besides its state. `log` adds the run's ids. */
export interface ActiveRun extends RunContext {
  journal: Journal;
  observer: RunObserver;
  /** Aborts when the run is cancelled, times out or moves to another process. */
  signal: AbortSignal;
  /** Time until the run's deadline. */
  remainingMs(): number;
  /**
   * For a claimed run: resolves once its client, which may have disconnected with another process, is known to read it.
   */
  readerKnown?: Promise<void>;
  segment?: Segment;
}

/** Tokens and cost for one or more attempts. */
export interface Spent {
  usage: TokenUsage;
  costMicros: number;
}

/** What a run has done so far, as stored. Enough to report its end, however early it ends. */
export interface Progress {
  readonly run: RunRecord;
  readonly turns: TurnRecord[];
  readonly calls: CallRecord[];
  readonly warnings: Set<string>;
  /**
   * The turn that the model is asked for. `discarded`: its failed attempts' cost. `unstored`: an unusable turn, which
   * is stored together with the run's end.
   */
  readonly asking: { turn?: TurnTiming | undefined; discarded?: Spent | undefined; unstored?: JournalEntry };
  /** In a retry: how many of the first calls and turns belong to the runs that it continues. */
  readonly continuedCalls?: number;
  readonly continuedTurns?: number;
  /** As in {@link FlowMemory}. Later runs of the thread inherit it. */
  labels?: ReadonlySet<FlowLabel>;
  /** How many calls were not loaded. */
  readonly leftOut?: number;
}

/** An ended call of this run or an earlier one. */
export interface PastCall {
  runId: string;
  call: CallRecord;
}

/** What a run knows for data-flow rules: its caller's texts, and earlier calls. */
export interface FlowMemory {
  words: readonly string[];
  /** Of the thread's earlier runs, and of those that a retry continues. */
  earlier: readonly PastCall[];
  /** What the run has received. Calls of runs that the model is not sent any more are not in `earlier`. */
  labels: Set<FlowLabel>;
}

/** The agent loop's state; rebuilt from the store after a crash. */
export interface RunState extends Progress {
  /** The current model; a model from `fallback` replaces it when it fails. */
  model: ChosenModel;
  /** The next models to ask, in order. */
  readonly fallback: ChosenModel[];
  /** The models before it in the run's list that failed and may recover. They are asked again when all others fail. */
  readonly passed: ChosenModel[];
  readonly functions: ReadonlyMap<string, FunctionManifest>;
  /** The run's role and the roles that include it: a pinned key needs one of them. Undefined without a role. */
  readonly heldBy: readonly string[] | undefined;
  /** Functions that exist but not for this role. Only the audit log distinguishes them from functions that do not exist. */
  readonly hidden: ReadonlySet<string>;
  readonly shown: readonly ModelFunction[];
  /** The last of `shown`, whose call is the answer; absent when the answer is a text. */
  readonly respond?: ModelFunction;
  /** The service's example query texts for the run's role. */
  readonly exampleQueries: readonly string[];
  readonly history: History;
  /** The `beforeAnswer` hooks that check each model text, in order. */
  readonly answerHooks: readonly ServiceHooks[];
  /**
   * The next turn, once its request was built. Set to undefined when that request changes, not deleted: V8 slows every
   * later access to an object after a property was deleted from it.
   */
  next?: NextTurn | undefined;
  /** Maximum conversation tokens; lowered when a model rejects a request as too long. */
  maxTokens: number;
  /** The last turn's input tokens as a multiple of their estimate; at least 1. */
  inputRatio: number;
  /** Conversation units that are omitted, oldest first. */
  dropped: number;
  /** The first turn whose echo is still valid: the messages before it have changed since the earlier turns. */
  echoesFrom: number;
  /** Time spent on offering calls that no runtime accepted. */
  offeredMs: number;
  /** Micro-USD known to be reserved for the next turn. */
  reservedMicros: number;
  /** Result bytes that the run has stored. */
  resultBytes: number;
  /** Absent without data-flow rules. */
  readonly flow?: FlowMemory | undefined;
}

/** One model request to be made. The same value is priced, reserved for and sent. */
export interface NextTurn {
  request: ModelRequest;
  /** The first turn in a run that plans first. */
  planning: boolean;
  /** No step may follow: the model must answer. */
  lastChance: boolean;
  dropped: number;
  echoesFrom: number;
  /** Reports what was omitted from the conversation. */
  warning?: string;
}

export function createProgress(run: RunRecord, turns: TurnRecord[] = [], calls: CallRecord[] = []): Progress {
  const warnings = new Set([...run.request.warnings, ...turns.flatMap((turn) => turn.warnings)]);
  return { run, turns, calls, warnings, asking: {} };
}

/** What a state is made from besides the stored progress. */
interface Restored
  extends
    Pick<RunState, "model" | "history">,
    Partial<Pick<RunState, "fallback" | "passed" | "reservedMicros" | "next" | "flow">> {
  manifest: Manifest;
}

export function createState(
  progress: Progress,
  { model, fallback = [], passed = [], manifest, history, reservedMicros = 0, next, flow }: Restored,
): RunState {
  const { run } = progress;
  const { visible, shown, respond } = functionsOf(run, manifest);
  const functions = new Map(visible.map((one) => [one.name, one]));
  return {
    model,
    fallback,
    passed,
    functions,
    heldBy: run.role === undefined ? undefined : withIncluding([run.role], manifest.roleOptions),
    hidden: new Set(manifest.functions.map((one) => one.name).filter((name) => !functions.has(name))),
    shown,
    next,
    exampleQueries: (manifest.exampleQueries ?? []).flatMap(({ query, role }) => (role === run.role ? [query] : [])),
    history,
    answerHooks: answerHooksOf(run, manifest),
    maxTokens: Infinity,
    inputRatio: 1,
    // The first turn's value: a resumed run whose conversation is still cut there keeps its turns' echoes.
    dropped: firstShown(history, historyBytes(run, shown, model)),
    echoesFrom: 0,
    offeredMs: 0,
    reservedMicros,
    resultBytes: storedResultBytes(progress.calls),
    flow,
    ...(respond && { respond }),
    ...progress,
  };
}

/** Adds a turn; the next request includes it. */
export function pushTurn(state: RunState, turn: TurnRecord): void {
  state.turns.push(turn);
  state.next = undefined;
}

/** A run's functions, and the ones that its model is shown: without the deprecated ones. */
export function functionsOf(
  { role, request: { responseSchema, task } }: { role?: string; request: RunRequest },
  manifest: Manifest,
) {
  const visible = task ? [] : visibleFunctions(manifest, role);
  const respond = responseSchema && respondFunction(responseSchema, visible);
  return { visible, shown: [...shownFunctions(visible), ...(respond ? [respond] : [])], respond };
}

/** The functions for a role that a model is shown. */
export const shownFunctions = (visible: readonly FunctionManifest[]): ModelFunction[] =>
  visible.filter(({ deprecated }) => deprecated === undefined).map(shownOf);

/**
 * The earlier runs that a run's model may receive: those in its thread, or for a retry or a repeated run those that its
 * origin had.
 */
export const historyScope = ({ role, subject, threadId, request: { rerunOf, retryOf } }: RunRecord) => ({
  role,
  subject,
  threadId,
  ...present({ before: retryOf?.continues[0] }),
  ...rerunOf?.history,
});

/** Maximum bytes from earlier runs that a run's model receives. */
export const historyBytes = (run: RunRecord, shown: readonly ModelFunction[], model: ChosenModel): number =>
  budgetOf(run.request, shown, model).historyTokens * BYTES_PER_TOKEN;

/** A test call has no model whose texts could be checked. */
function answerHooksOf({ request, manifestHash = "" }: RunRecord, manifest: Manifest): ServiceHooks[] {
  return request.testCall ? [] : hooksOf({ manifest, manifestHash }).filter((one) => one.beforeAnswer);
}

const shownBefore = new WeakMap<FunctionManifest, ModelFunction>();

/**
 * Returns the same object for the same function in every run, because adapters cache what they derive from its schema.
 */
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

/** One turn's calls, in the model's order. */
export function callsOf(state: Pick<Progress, "calls">, step: number): CallRecord[] {
  return state.calls.filter((call) => call.step === step).sort((a, b) => a.position - b.position);
}
