import type { ModelRequest } from "../ports/model-provider.ts";
import type { RunCommit } from "../ports/run-store.ts";
import { sizeOf } from "./compact.ts";
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
  const most = { input: promptTokens(request), cachedInput: 0, output: request.maxTokens };
  return model.cost(most) ?? model.assumedCost(most);
}

/** An upper estimate: text has seldom less than three characters to a token. */
function promptTokens(request: ModelRequest): number {
  const schemas = request.functions.reduce(
    (sum, one) => sum + one.description.length + sizeOfSchema(one.inputSchema),
    0,
  );
  return Math.ceil((request.system.length + sizeOf(request.messages) + schemas) / 3);
}

const schemaSizes = new WeakMap<object, number>();

function sizeOfSchema(schema: object): number {
  let size = schemaSizes.get(schema);
  if (size === undefined) schemaSizes.set(schema, (size = JSON.stringify(schema).length));
  return size;
}
