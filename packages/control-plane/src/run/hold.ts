import type { JsonValue } from "@patchbay/protocol";
import type { ChosenModel, Message, ModelRequest } from "../ports/model-provider.ts";
import type { RunCommit } from "../ports/run-store.ts";
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

/**
 * An upper estimate: a token has seldom less than three bytes. Characters would not do: a character of Chinese or Japanese is a
 * token by itself, and a turn would cost three times what was reserved for it.
 */
function promptTokens({ system, messages, functions }: ModelRequest): number {
  const schemas = functions.reduce((sum, one) => sum + bytes(one.description) + sizeOfJson(one.inputSchema), 0);
  return Math.ceil((bytes(system) + messages.reduce((sum, one) => sum + bytesOf(one), 0) + schemas) / 3);
}

const bytes = (text: string): number => Buffer.byteLength(text);

function bytesOf(message: Message): number {
  if (message.role === "user") return bytes(message.text) + bytes(message.preface ?? "");
  if (message.role === "results") return message.results.reduce((sum, { content }) => sum + bytes(content), 0);
  const { text, calls, echo } = message;
  const plain = calls.reduce((sum, call) => sum + bytes(call.name) + bytes(call.arguments), bytes(text));
  // Reasoning goes back only in the provider's own blocks, and is billed as input.
  return Math.max(plain, sizeOfJson(echo?.blocks ?? null));
}

const sizes = new WeakMap<object, number>();

function sizeOfJson(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let size = sizes.get(value);
  if (size === undefined) sizes.set(value, (size = bytes(JSON.stringify(value))));
  return size;
}
