import type { ChosenModel, Message, ModelRequest } from "../ports/model-provider.ts";
import type { RunCommit } from "../ports/run-store.ts";
import { askingOf, nextRequest } from "./request.ts";
import type { RunState } from "./state.ts";

/** What is to be held for a run's next turn, to go with the step that comes before it; nothing for those who do not pay. */
export function nextHold(state: RunState): RunCommit["hold"] {
  if (!state.run.request.charged) return undefined;
  return { step: state.turns.length, micros: mostOf(state, nextRequest(state, askingOf(state))) };
}

/** The most that a turn can cost, in micro-USD; 0 for those who do not pay. The rest goes back when the turn is stored. */
export function mostOf({ run, model }: RunState, request: ModelRequest): number {
  if (!run.request.charged) return 0;
  return model.cost({ input: promptTokens(request), cachedInput: 0, output: request.maxTokens }) ?? 0;
}

/** False for a model that an organisation which pays cannot use: its turns could not be charged. */
export const hasPrice = (model: ChosenModel): boolean =>
  model.cost({ input: 0, cachedInput: 0, output: 0 }) !== undefined;

/**
 * An upper estimate: a token has seldom less than three bytes. Characters would not do: a character of Chinese or Japanese is a
 * token by itself, and a turn would cost three times what was reserved for it.
 */
function promptTokens({ system, messages, functions }: ModelRequest): number {
  const schemas = functions.reduce((sum, one) => sum + bytes(one.description) + sizeOfSchema(one.inputSchema), 0);
  return Math.ceil((bytes(system) + messages.reduce((sum, one) => sum + bytesOf(one), 0) + schemas) / 3);
}

const bytes = (text: string): number => Buffer.byteLength(text);

function bytesOf(message: Message): number {
  if (message.role === "user") return bytes(message.text) + bytes(message.preface ?? "");
  if (message.role === "results") return message.results.reduce((sum, { content }) => sum + bytes(content), 0);
  return message.calls.reduce((sum, call) => sum + bytes(call.name) + bytes(call.arguments), bytes(message.text));
}

const schemaSizes = new WeakMap<object, number>();

function sizeOfSchema(schema: object): number {
  let size = schemaSizes.get(schema);
  if (size === undefined) schemaSizes.set(schema, (size = bytes(JSON.stringify(schema))));
  return size;
}
