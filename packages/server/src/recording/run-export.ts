import {
  type AgentSettingsChange,
  LIMITS,
  type LlmConfig,
  type Manifest,
  PROVIDER_NAMES,
  type RunErrorCode,
} from "@patchbay/protocol";
import { escapeControls, type JsonObject, present } from "@patchbay/kit";
import { AdminError, found } from "../accounts/admin-error.ts";
import { findRun } from "../accounts/admin-records.ts";
import { contextTokens } from "@patchbay/models/capabilities";
import { recordedAnswer, recordedRequest } from "./request.ts";
import { addTurn, emptyTape, type Tape } from "./tape.ts";
import type { ChosenModel, ModelStop, ModelTurn } from "@patchbay/engine/ports/model-provider";
import type { CallRecord, RunRecord, RunRequest, TurnRecord } from "@patchbay/engine/ports/records";
import type { HistoryEntry } from "@patchbay/engine/ports/store/run-store";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { firstShown } from "@patchbay/engine/run/loop/compact";
import { nextTurn, systemText } from "@patchbay/engine/run/loop/request";
import { recallRun } from "@patchbay/engine/run/start/retry";
import {
  createProgress,
  createState,
  functionsOf,
  historyBytes,
  historyScope,
  pushTurn,
  type RunState,
} from "@patchbay/engine/run/state";

/** A query in an exported conversation, with only the context's names; the turns contain the values sent. */
export interface ExportedQuery {
  query: string;
  role?: string;
  contextKeys: string[];
  analysisMode?: true;
  responseSchema?: JsonObject;
  llmConfig?: LlmConfig;
  /** Settings that no query can set, if they differ from the previous query's. */
  settings?: AgentSettingsChange;
}

/** A recording with a run and the earlier runs in its model requests, and everything needed to repeat the queries. */
export interface ExportedRun extends Tape {
  /** The instructions from the agent, or from the member who sent the query, at the run's start. */
  instructions?: string;
  queries: ExportedQuery[];
  /** True for a run that did not succeed. */
  failed?: true;
  /** What has to change before a test with the run can pass, as sentences. */
  edits?: string[];
}

/** Creates a finished run's recording from the store. Throws `AdminError` for a missing or unfinished run. */
export async function exportRun(store: Store, runId: string, agentId?: string): Promise<ExportedRun> {
  const run = found(await findRun(store, runId, agentId), "run", runId, "runs list --agent ID");
  if (run.finishedAt === undefined) throw new AdminError(`Run ${runId} has not ended yet: export it when it has.`);
  const earlier = await earlierRuns(store, run);
  const tape = emptyTape();
  const queries: ExportedQuery[] = [];
  const repeated: RunToRepeat[] = [];
  for (const [i, exported] of [...earlier.map((entry) => entry.run), run].entries()) {
    if (exported.request.quoted || exported.request.task)
      throw new AdminError(
        `Run ${exported.runId} is of a chat client: it is a background task, or received texts besides its query, and a test cannot send either. Export a run of another client.`,
      );
    const added = await addRun(store, exported, earlier.slice(0, i), tape);
    if (added) repeated.push(added);
    queries.push(exportedQuery(exported, earlier[i - 1]?.run));
  }
  if (tape.turns.length === 0)
    throw new AdminError(`Run ${runId} ended before its first model turn: there is nothing to replay.`);
  const instructions = repeated.at(-1)?.instructions;
  const edits = editsOf(repeated);
  return {
    ...tape,
    ...(instructions && { instructions }),
    queries,
    ...(run.result?.success === false && { failed: true as const }),
    ...(edits.length > 0 && { edits }),
  };
}

interface EarlierRun {
  run: RunRecord;
  entry: HistoryEntry;
}

/** The runs that the run's model received at first. */
async function earlierRuns(store: Store, run: RunRecord): Promise<EarlierRun[]> {
  const { runs } = store;
  const { runId, agentId, manifestHash } = run;
  // The run ended before it had functions, so it has no turn.
  if (manifestHash === undefined) return [];
  const { shown } = functionsOf(run, await manifestOf(store, run));
  const maxBytes = historyBytes(run, shown, modelOf(run));
  const { threadId, ...scope } = historyScope(run);
  const history = await runs.history(threadId, { before: runId, ...scope, maxBytes });
  const found: EarlierRun[] = [];
  for (const entry of history.entries.slice(firstShown(history, maxBytes))) {
    const earlier = await runs.get(agentId, entry.runId);
    if (earlier) found.push({ run: earlier, entry });
  }
  return found;
}

/** Adds a run's turns, if any. */
async function addRun(
  store: Store,
  run: RunRecord,
  earlier: readonly EarlierRun[],
  tape: Tape,
): Promise<RunToRepeat | undefined> {
  const { turns, calls } = await recallRun(run, store.runs);
  if (turns.length === 0) return undefined;
  const manifest = await manifestOf(store, run);
  const entries = earlier.map(({ entry }) => entry);
  // The thread that repeats the queries starts with the first of them.
  const history = { entries, hasOlder: false, totalBytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) };
  const state = createState(createProgress(run, [], calls), { model: modelOf(run), manifest, history });
  for (const turn of turns) {
    const { request } = nextTurn(state);
    addTurn(tape, recordedRequest(request), recordedAnswer(request, answerOf(state, turn, turns)));
    pushTurn(state, turn);
  }
  return { run, calls, instructions: instructionsOf(run, manifest) };
}

/** The text between the rules and the service's instructions: the agent's own may have changed since. */
function instructionsOf(run: RunRecord, manifest: Manifest): string | undefined {
  const { system } = run.request;
  const options = { isTask: false, respond: functionsOf(run, manifest).respond?.name };
  const between = system.slice(
    systemText([], options).length,
    -(manifest.instructions?.trim().length ?? 0) || undefined,
  );
  return systemText([between, manifest.instructions], options) === system ? between.trim() : undefined;
}

async function manifestOf({ runtimes }: Store, { agentId, manifestHash, runId }: RunRecord): Promise<Manifest> {
  const manifest = manifestHash === undefined ? undefined : await runtimes.getManifest(agentId, manifestHash);
  if (manifest) return manifest;
  throw new AdminError(`Run ${runId} cannot be exported: the functions it was shown are no longer stored.`);
}

/** A finished run sends no requests, so only its model's name matters. */
function modelOf({ request }: RunRecord): ChosenModel {
  const stream = () => {
    throw new Error("a finished run asks no model");
  };
  const { provider, model } = request;
  return { provider: { name: provider, stream }, model, contextTokens: contextTokens(model), cost: () => 0 };
}

function answerOf(state: RunState, turn: TurnRecord, turns: readonly TurnRecord[]): ModelTurn {
  const said = turn.messages.find((message) => message.role === "assistant");
  const { text = "", calls = [] } = said ?? {};
  const stop = calls.length > 0 ? "calls" : stopOf(state, turn, turns);
  return { text, calls, thoughts: [], stop, usage: turn.usage, model: turn.model };
}

/** Why a turn without calls ended, derived from its result. */
function stopOf({ run }: RunState, turn: TurnRecord, turns: readonly TurnRecord[]): ModelStop {
  const isPlan = turn.messages.length > 1;
  if (turn !== turns.at(-1)) return isPlan ? "stop" : "pause";
  if (run.result?.code === "model_refused") return "refused";
  return run.result?.code === "output_limit" ? "length" : "stop";
}

function exportedQuery({ request, role }: RunRecord, before: RunRecord | undefined): ExportedQuery {
  const { query, context, analysisMode, provider, maxTokens, temperature, reasoning, responseSchema } = request;
  const usual = maxTokens === LIMITS.defaultMaxTokens && (temperature ?? reasoning) === undefined;
  const settings = settingsSince(before?.request ?? {}, request);
  return {
    query,
    ...present({ role }),
    contextKeys: Object.keys(context),
    ...(analysisMode && { analysisMode }),
    ...present({ responseSchema }),
    ...(!usual && { llmConfig: { provider: namedBy(provider), maxTokens, ...present({ temperature, reasoning }) } }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

type Settings = Pick<RunRequest, "steps" | "historyTokens">;

/** The changed settings; `null` is the service's default. */
function settingsSince(before: Settings, { steps, historyTokens }: Settings): AgentSettingsChange {
  return {
    ...(steps !== before.steps && { steps: steps ?? null }),
    ...(historyTokens !== before.historyTokens && { historyTokens: historyTokens ?? null }),
  };
}

/** A query with settings must name a provider: in a test any of them works. */
function namedBy(provider: string): LlmConfig["provider"] {
  return PROVIDER_NAMES.find((name) => name === provider) ?? PROVIDER_NAMES[0];
}

/** One run in an exported conversation. */
interface RunToRepeat {
  run: RunRecord;
  calls: readonly CallRecord[];
  /** The agent's instructions, undefined if this version would not send the run's system text. */
  instructions: string | undefined;
}

/** Ends with an external cause: a replay continues, to a model request that was not recorded. */
const FROM_OUTSIDE: ReadonlySet<string | undefined> = new Set<RunErrorCode>([
  "agent_session_not_found",
  "budget_exceeded",
  "cancelled",
  "crash_loop",
  "deadline_exceeded",
  "insufficient_credits",
  "internal",
  "model_not_allowed",
  "provider_error",
  "provider_not_configured",
]);

/** What the owner must change before a test with these runs can pass, as sentences. Empty if it passes as it is. */
function editsOf(runs: readonly RunToRepeat[]): string[] {
  const all = <T>(of: (repeated: RunToRepeat) => readonly T[]) => [...new Set(runs.flatMap(of))];
  const keys = all(({ run }) => Object.keys(run.request.context)).map(onOneLine);
  const approved = all(({ calls }) => calls.filter(({ approval }) => approval).map(({ functionName }) => functionName));
  const codes = all(({ run: { result } }) => (FROM_OUTSIDE.has(result?.code) ? [result!.code!] : []));
  const instructions = new Set(runs.map((repeated) => repeated.instructions));
  return [
    ...(keys.length > 0 ? [`Fill in the values of the context, which are not exported: ${keys.join(", ")}.`] : []),
    ...(approved.length > 0
      ? [`Give each query an approver: a person decided on calls of ${approved.join(", ")}.`]
      : []),
    ...codes.map((code) => `Write what the test expects: the run ended with ${code}, which a replay does not repeat.`),
    ...(instructions.has(undefined)
      ? ["Record the conversation again: its system text is that of an earlier version."]
      : instructions.size > 1
        ? ["Record the conversation again: the agent's instructions changed between its queries."]
        : []),
  ];
}

/** A context key is a client's text: a line break in it would end the test's comment, and the rest would be code. */
const onOneLine = (key: string): string => escapeControls(JSON.stringify(key));
