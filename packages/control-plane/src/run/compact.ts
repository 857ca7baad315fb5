import type { ChosenModel, ModelFunction } from "../ports/model-provider.ts";
import type { RunRequest } from "../ports/records.ts";
import type { History } from "../ports/run-store.ts";
import { BYTES_PER_TOKEN, fixedTokens } from "./estimate.ts";

const UNKNOWN_WINDOW_TOKENS = 200_000;
/** Half of a large window would cost more with each query than it helps. */
const MOST_TOKENS = 200_000;
/** A conversation has so much room in every window: where that is too much, the provider refuses it, and it is cut further. */
const LEAST_TOKENS = 2_000;
/** A history that filled the room would be cut by the first result, in every run of a thread. */
const HISTORY_SHARE = 3 / 4;

/** How much of a conversation a model is sent. */
export interface Budget {
  /** Earlier runs of the thread. */
  historyTokens: number;
  /** Earlier runs, and the run's own messages. */
  conversationTokens: number;
}

/**
 * Half of the model's context window for earlier runs, unless the run sets another size, and the other half for the run itself.
 * Both stay within what the window has room for next to the functions, the system text and the answer, and the run itself keeps a
 * quarter of that. Nothing of the conversation counts, or each query would cut the thread at another place.
 */
export function budgetOf(
  { historyTokens: own, system, maxTokens }: Pick<RunRequest, "historyTokens" | "system" | "maxTokens">,
  functions: readonly ModelFunction[],
  { contextTokens }: Pick<ChosenModel, "contextTokens">,
): Budget {
  const half = Math.min(MOST_TOKENS, Math.floor((contextTokens ?? UNKNOWN_WINDOW_TOKENS) / 2));
  const room =
    contextTokens === undefined
      ? Infinity
      : Math.max(LEAST_TOKENS, contextTokens - maxTokens - fixedTokens({ system, functions }));
  const historyTokens = Math.min(own ?? half, Math.floor(room * HISTORY_SHARE));
  return { historyTokens, conversationTokens: Math.min(historyTokens + half, room) };
}

/** The sizes in bytes of what a conversation consists of. */
export interface Conversation {
  history: History;
  query: number;
  /** Each with the results of its calls. */
  turns: readonly number[];
}

export interface Fitted {
  /** How many whole units are left out, oldest first: earlier runs, then turns of the run. */
  dropped: number;
  /** Size of the rest. */
  bytes: number;
}

/**
 * Fits a conversation into its budget by leaving out whole units. The run's query and its newest turn always stay. What no longer
 * fits is cut down to half: providers keep prompts by their beginnings, which then stay the same until that half is filled again.
 */
export function fit({ history, query, turns }: Conversation, { historyTokens, conversationTokens }: Budget): Fitted {
  const runs = history.entries.map((entry) => entry.bytes);
  const sizes = [...runs, ...turns];
  const mostBytes = conversationTokens * BYTES_PER_TOKEN;
  let dropped = firstShown(history, historyTokens * BYTES_PER_TOKEN);
  let bytes = query + sum(runs.slice(dropped));
  const cut = (newest: number): void => {
    if (bytes > mostBytes) while (dropped < newest && bytes > mostBytes / 2) bytes -= sizes[dropped++]!;
  };
  cut(runs.length);
  for (const [at, size] of turns.entries()) {
    bytes += size;
    cut(runs.length + at);
  }
  return { dropped, bytes };
}

/**
 * The first run of a history that is shown: the first that begins at or after a multiple of half the budget, counted in bytes
 * from the beginning of the thread. So the next queries begin with the same run, until as much as half the budget was added.
 */
export function firstShown({ entries, hasOlder, totalBytes }: History, mostBytes: number): number {
  const shownBytes = sum(entries.map((entry) => entry.bytes));
  if (!hasOlder && shownBytes <= mostBytes) return 0;
  const step = mostBytes / 2;
  const begin = Math.ceil((totalBytes - mostBytes) / step) * step;
  let at = totalBytes - shownBytes;
  let first = 0;
  while (first < entries.length && at < begin) at += entries[first++]!.bytes;
  return first;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
