import type { ChosenModel, ModelRequest } from "../ports/model-provider.ts";
import type { RunCommit } from "../ports/run-store.ts";
import { BYTES_PER_TOKEN, sizeOf, sizeOfJson } from "./compact.ts";
import { askingOf, nextRequest } from "./request.ts";
import type { RunState } from "./state.ts";

/** What is to be held for a run's next turn, to go with the step that comes before it; nothing for those who do not pay. */
export function nextHold(state: RunState): RunCommit["hold"] {
  if (!state.run.request.charged) return undefined;
  return { step: state.turns.length, micros: mostOf(state, nextRequest(state, askingOf(state))) };
}

/** What is to be held for a turn, in micro-USD; 0 for those who do not pay. The rest goes back when the turn is stored. */
export const mostOf = ({ run, model }: RunState, request: ModelRequest): number =>
  run.request.charged ? (mostExpensive(model, request)?.micros ?? 0) : 0;

/**
 * The most that a turn can cost, in micro-USD; undefined for a model without a price. A provider may write the whole input to
 * its cache or nothing of it, and an operator's price file may make either the dearer one.
 */
export function mostExpensive(
  model: ChosenModel,
  request: ModelRequest,
): { micros: number; inputTokens: number } | undefined {
  const inputTokens = promptTokens(request);
  const usage = { input: inputTokens, cachedInput: 0, output: request.maxTokens };
  const plain = model.cost(usage);
  const written = model.cost({ ...usage, cacheWriteInput: inputTokens });
  return plain === undefined || written === undefined ? undefined : { micros: Math.max(plain, written), inputTokens };
}

/** False for a model that an organisation which pays cannot use: its turns could not be charged. */
export const hasPrice = (model: ChosenModel): boolean =>
  model.cost({ input: 0, cachedInput: 0, output: 0 }) !== undefined;

function promptTokens({ system, messages, functions }: ModelRequest): number {
  const schemas = functions.reduce((sum, one) => sum + bytes(one.description) + sizeOfJson(one.inputSchema), 0);
  return Math.ceil((bytes(system) + sizeOf(messages) + schemas) / BYTES_PER_TOKEN);
}

const bytes = (text: string): number => Buffer.byteLength(text);
