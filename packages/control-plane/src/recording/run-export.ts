import { type AgentSettingsChange, type JsonObject, LIMITS, type LlmConfig, type Manifest } from "@patchbay/protocol";
import { AdminError } from "../accounts/admin-error.ts";
import { contextTokens } from "../models/capabilities.ts";
import { editsOf, type RunToRepeat } from "./edits.ts";
import { recordedAnswer, recordedRequest } from "./request.ts";
import { addTurn, emptyTape, type Tape } from "./tape.ts";
import type { ChosenModel, ModelStop, ModelTurn } from "../ports/model-provider.ts";
import type { RunRecord, RunRequest, TurnRecord } from "../ports/records.ts";
import type { HistoryEntry } from "../ports/run-store.ts";
import type { Store } from "../ports/stores.ts";
import { firstShown } from "../run/loop/compact.ts";
import { nextTurn, systemText } from "../run/loop/request.ts";
import {
  createProgress,
  createState,
  functionsOf,
  historyBytes,
  historyScope,
  pushTurn,
  type RunState,
} from "../run/state.ts";

/** One query of an exported conversation. It has only the names of the context; the turns contain the values that the model received. */
export interface ExportedQuery {
  query: string;
  role?: string;
  contextKeys: string[];
  analysisMode?: true;
  responseSchema?: JsonObject;
  llmConfig?: LlmConfig;
  /** Settings that no query can set, if they differ from those of the query before. */
  settings?: AgentSettingsChange;
}

/** A recording of a run and of the earlier runs in its model requests, with everything needed to repeat the queries. */
export interface ExportedRun extends Tape {
  /** The instructions of the agent, or of the member who sent the query, at the start of the run. */
  instructions?: string;
  queries: ExportedQuery[];
  /** True for a run that did not succeed. */
  failed?: true;
  /** What has to change before a test of the run can pass, as sentences. */
  edits?: string[];
}

/** Makes a recording of a finished run from the store. Throws `AdminError` for a run that does not exist or has not ended. */
export async function exportRun(store: Store, runId: string, agentId?: string): Promise<ExportedRun> {
  const run = await findRun(store, runId, agentId);
  if (run.finishedAt === undefined) throw new AdminError(`Run ${runId} has not ended yet: export it when it has.`);
  const earlier = await earlierRuns(store, run);
  const tape = emptyTape();
  const queries: ExportedQuery[] = [];
  const repeated: RunToRepeat[] = [];
  for (const [i, one] of [...earlier.map((entry) => entry.run), run].entries()) {
    if (one.request.quoted || one.request.task)
      throw new AdminError(
        `Run ${one.runId} is of a chat client: it is a background task, or received texts besides its query, and a test cannot send either. Export a run of another client.`,
      );
    const added = await addRun(store, one, earlier.slice(0, i), tape);
    if (added) repeated.push(added);
    queries.push(exportedQuery(one, earlier[i - 1]?.run));
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

async function findRun({ accounts, runs }: Store, runId: string, ofAgent: string | undefined): Promise<RunRecord> {
  const agents = ofAgent === undefined ? await accounts.listAgents() : [{ agentId: ofAgent }];
  for (const { agentId } of agents) {
    const run = await runs.get(agentId, runId);
    if (run) return run;
  }
  throw new AdminError(`There is no run ${runId}: see patchbay runs list --agent ID.`);
}

interface EarlierRun {
  run: RunRecord;
  entry: HistoryEntry;
}

/** Those that the run's model was shown at first. */
async function earlierRuns(store: Store, run: RunRecord): Promise<EarlierRun[]> {
  const { runs } = store;
  const { runId, agentId, manifestHash } = run;
  // It ended before it had functions, so it has no turn.
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

/** Adds the turns of a run, if it has any. */
async function addRun(
  store: Store,
  run: RunRecord,
  earlier: readonly EarlierRun[],
  tape: Tape,
): Promise<RunToRepeat | undefined> {
  const { turns, calls } = await store.runs.checkpoint(run.runId);
  if (turns.length === 0) return undefined;
  const manifest = await manifestOf(store, run);
  const entries = earlier.map(({ entry }) => entry);
  // The thread that asks again begins with the first of them.
  const history = { entries, hasOlder: false, totalBytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) };
  const state = createState(createProgress(run, [], calls), { model: modelOf(run), manifest, history });
  for (const turn of turns) {
    const { request } = nextTurn(state);
    addTurn(tape, recordedRequest(request), recordedAnswer(request, answerOf(state, turn, turns)));
    pushTurn(state, turn);
  }
  return { run, calls, instructions: instructionsOf(run, manifest) };
}

/** The text between the rules and the service's instructions: the agent's may have changed since. */
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

/** A finished run sends no requests, so only the name of its model matters. */
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
  const { query, context, analysisMode, provider, maxTokens, temperature, responseSchema } = request;
  const usual = maxTokens === LIMITS.defaultMaxTokens && temperature === undefined;
  const settings = settingsSince(before?.request ?? {}, request);
  return {
    query,
    ...(role !== undefined && { role }),
    contextKeys: Object.keys(context),
    ...(analysisMode && { analysisMode }),
    ...(responseSchema && { responseSchema }),
    ...(!usual && {
      llmConfig: { provider: namedBy(provider), maxTokens, ...(temperature !== undefined && { temperature }) },
    }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

type Settings = Pick<RunRequest, "steps" | "historyTokens">;

/** Those that are not as before; `null` is the service's default. */
function settingsSince(before: Settings, { steps, historyTokens }: Settings): AgentSettingsChange {
  return {
    ...(steps !== before.steps && { steps: steps ?? null }),
    ...(historyTokens !== before.historyTokens && { historyTokens: historyTokens ?? null }),
  };
}

/** A query that has settings must name one of the three: in a test any of them does. */
function namedBy(provider: string): LlmConfig["provider"] {
  return provider === "openai" || provider === "gemini" ? provider : "anthropic";
}
