import type { Manifest } from "@patchbay/protocol";
import type { ChosenModel, ModelRequest } from "../../ports/model-provider.ts";
import type { CallRecord, ModelRetry, RunRecord, TurnRecord } from "../../ports/records.ts";
import type { History } from "../../ports/store/run-store.ts";
import { createProgress, createState, functionsOf, historyBytes, pushTurn, type RunState } from "../state.ts";
import { nextTurn, shrink } from "./request.ts";

/** A stored run, from which its model requests are built again. */
export interface StoredRun {
  run: RunRecord;
  turns: readonly (TurnRecord & { endedAt: number; timing?: { retries: readonly ModelRetry[] } })[];
  calls: readonly CallRecord[];
  /** When each replica that resumed the run stored its first step. */
  resumedAt: readonly number[];
  /** The turn that was requested and is not stored. */
  unanswered?: { retries: readonly ModelRetry[]; provider?: string; model?: string };
}

/** What a run's requests are built from besides its own rows. */
interface RequestSources {
  manifest: Manifest;
  choose(wanted: { provider: string; model: string }): ChosenModel;
  /** The thread's earlier runs, as when the run started. */
  history(maxBytes: number): Promise<History>;
}

export interface SentRequest {
  request: ModelRequest;
  provider: string;
  /** True when earlier runs in the thread are no longer stored. */
  historyDeleted: boolean;
}

/**
 * A run's model requests from its first turn to turn `last`, which is the stored turns' number for the one in progress.
 * Built as the loop built them: each replica that resumed the run began with fresh state, and each failed attempt may
 * have replaced the model or shortened the conversation.
 */
export async function sentRequests(stored: StoredRun, last: number, sources: RequestSources): Promise<SentRequest[]> {
  const { run, turns, calls, unanswered } = stored;
  const sent: SentRequest[] = [];
  const resumes = [...stored.resumedAt];
  let state = await stateAt([], stored, sources);
  for (let step = 0; step <= Math.min(last, turns.length); step++) {
    const turn = turns[step];
    const resumed = takeUntil(resumes, turn?.endedAt ?? Infinity);
    if (resumed && step > 0) state = await stateAt(turns.slice(0, step), { run, calls }, sources);
    const retries = (turn ? turn.timing : unanswered)?.retries ?? [];
    for (const retry of retries) {
      useModel(state, retry, sources);
      nextTurn(state);
      if (retry.code === "context_window") shrink(state);
    }
    useModel(state, turn ?? unanswered ?? {}, sources);
    const { entries, hasOlder, totalBytes } = state.history;
    sent.push({
      request: nextTurn(state).request,
      provider: state.model.provider.name,
      historyDeleted: !hasOlder && totalBytes > entries.reduce((sum, { bytes }) => sum + bytes, 0),
    });
    if (turn) pushTurn(state, turn);
  }
  return sent;
}

/** The state with which a replica begins or resumes a run after these turns. */
async function stateAt(
  turns: readonly TurnRecord[],
  { run, calls }: Pick<StoredRun, "run" | "calls">,
  { manifest, choose, history }: RequestSources,
): Promise<RunState> {
  const model = choose(turns.at(-1) ?? run.request);
  const maxBytes = historyBytes(run, functionsOf(run, manifest).shown, model);
  const progress = createProgress(run, [...turns], [...calls]);
  return createState(progress, { model, manifest, history: await history(maxBytes) });
}

/** Removes the times up to `at`; true when there was one. */
function takeUntil(times: number[], at: number): boolean {
  const { length } = times;
  while (times[0] !== undefined && times[0] <= at) times.shift();
  return times.length < length;
}

/** A replacement model gets the whole conversation again. */
function useModel(state: RunState, wanted: { provider?: string; model?: string }, { choose }: RequestSources): void {
  const { provider, model } = wanted;
  if (provider === undefined || model === undefined) return;
  if (provider === state.model.provider.name && model === state.model.model) return;
  state.model = choose({ provider, model });
  state.maxTokens = Infinity;
  state.next = undefined;
}
