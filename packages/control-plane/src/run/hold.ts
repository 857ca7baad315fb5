import type { ChosenModel, ModelRequest, TokenUsage } from "../ports/model-provider.ts";
import type { RunCommit } from "../ports/run-store.ts";
import { promptTokens } from "./estimate.ts";
import { askingOf, nextRequest } from "./request.ts";
import type { RunState } from "./state.ts";

/** What is to be held for a run's next turn, to go with the step that comes before it; nothing for those who do not pay. */
export function nextHold(state: RunState): RunCommit["hold"] {
  if (!state.run.request.charged) return undefined;
  return { step: state.turns.length, micros: mostOf(state, nextRequest(state, askingOf(state))) };
}

/** What is to be held for a turn, in micro-USD; 0 for those who do not pay. The rest goes back when the turn is stored. */
export const mostOf = (state: RunState, request: ModelRequest): number =>
  state.run.request.charged ? (mostExpensive(state, request)?.micros ?? 0) : 0;

/**
 * The most that a turn can cost, in micro-USD; undefined for a model without a price. A provider may write the whole input to
 * its cache or nothing of it, and an operator's price file may make either the dearer one.
 */
export function mostExpensive(
  state: Pick<RunState, "model" | "inputRatio">,
  request: ModelRequest,
): { micros: number; inputTokens: number } | undefined {
  const { model } = state;
  const inputTokens = estimatedInput(state, request);
  const usage = { input: inputTokens, cachedInput: 0, output: request.maxTokens };
  const plain = model.cost(usage);
  const written = model.cost({ ...usage, cacheWriteInput: inputTokens });
  return plain === undefined || written === undefined ? undefined : { micros: Math.max(plain, written), inputTokens };
}

/** Tokens of a request, with what the turn before it took beyond its estimate. */
export const estimatedInput = ({ inputRatio }: Pick<RunState, "inputRatio">, request: ModelRequest): number =>
  Math.ceil(promptTokens(request) * inputRatio);

/** Raises the estimate of the next turn by what this one took beyond its own. Servers that report no usage leave it as it is. */
export function measure(state: RunState, request: ModelRequest, usage: TokenUsage): void {
  if (usage.input > 0) state.inputRatio = Math.max(1, usage.input / promptTokens(request));
}

/** False for a model that an organisation which pays cannot use: its turns could not be charged. */
export const hasPrice = (model: ChosenModel): boolean =>
  model.cost({ input: 0, cachedInput: 0, output: 0 }) !== undefined;
