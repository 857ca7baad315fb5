import type { ModelCall, ModelEvent, ModelFunction, ModelRequest, ModelTurn, PlanTexts } from "./model.ts";
import type { PlannedCall } from "./agenda.ts";
import { writeAnswer, writePlan, writeThought } from "./answer.ts";
import { callKey } from "./conversation.ts";

import { readSituation, type Situation } from "./situation.ts";
import { writeValue } from "./structured.ts";

export type { ModelEvent, ModelRequest, PlanTexts } from "./model.ts";

const NAME = "offline";
const MAX_CALLS_OF_TURN = 8;
const CHARS_PER_TOKEN = 4;

/**
 * A model without a key or a network. It is deterministic: it matches the words of a query with the functions that it sees, and fills
 * their arguments from the conversation. It keeps no state between turns.
 */
export function createOfflineModel(plan: PlanTexts): {
  readonly name: string;
  /** Yields the deltas of one turn, then the turn. Throws `signal.reason` when aborted. */
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
} {
  return {
    name: NAME,
    async *stream(request, { signal }) {
      signal.throwIfAborted();
      const turn = takeTurn(request, plan);
      for (const thought of turn.thoughts) yield { type: "thoughtDelta", text: thought };
      for (const text of turn.text.match(/\S+\s*|\s+/gu) ?? []) {
        signal.throwIfAborted();
        yield { type: "textDelta", text };
      }
      yield { type: "end", turn };
    },
  };
}

function takeTurn(request: ModelRequest, plan: PlanTexts): ModelTurn {
  const { respond, toolChoice } = request;
  const functions = respond ? request.functions.filter((one) => one !== respond) : request.functions;
  const situation = readSituation({ ...request, functions }, plan);
  const planned = callsOf(situation);
  const acting = toolChoice === "auto" && planned.length > 0;
  const planning = toolChoice === "none" && situation.conversation.made.length === 0;
  const answering = !acting && respond !== undefined && toolChoice !== "none";
  const full =
    acting || answering ? "" : planning ? writePlan(situation) : writeAnswer(situation, request.exampleQueries ?? []);
  const text = full.slice(0, request.maxTokens * CHARS_PER_TOKEN);
  const calls = acting ? planned.map(asCall) : answering ? [valueCall(respond, situation)] : [];
  const warnings = [
    ...(request.temperature !== undefined ? ["The offline model takes no temperature."] : []),
    ...(answering ? ["The offline model filled the answer's members by their names. It is not a language model."] : []),
  ];
  const thought = writeThought(situation, acting ? planned : []);
  const said =
    text.length + thought.length + calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  return {
    text,
    thoughts: [thought],
    calls,
    stop: calls.length > 0 ? "calls" : text.length < full.length ? "length" : "stop",
    usage: { input: tokens(promptChars(request, situation)), cachedInput: 0, output: tokens(said) },
    model: NAME,
    ...(warnings.length > 0 && { warnings }),
  };
}

/** What comes next for everything that was asked, each call once. */
function callsOf({ outcomes }: Situation): PlannedCall[] {
  const distinct = new Map<string, PlannedCall>();
  for (const call of outcomes.flatMap(({ calls }) => calls)) {
    const key = callKey(call.fn.name, call.arguments);
    if (!distinct.has(key)) distinct.set(key, call);
  }
  return [...distinct.values()].slice(0, MAX_CALLS_OF_TURN);
}

function asCall({ fn, arguments: input }: PlannedCall, at: number): ModelCall {
  return { id: `call_${at + 1}`, name: fn.name, arguments: JSON.stringify(input) };
}

const valueCall = ({ name, inputSchema }: ModelFunction, situation: Situation): ModelCall => ({
  id: "call_1",
  name,
  arguments: JSON.stringify(writeValue(inputSchema, situation)),
});

const tokens = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);

function promptChars({ system, messages }: ModelRequest, { set }: Situation): number {
  let chars = system.length + set.sizeChars;
  for (const message of messages) {
    if (message.role === "results") for (const result of message.results) chars += result.content.length;
    else chars += message.text.length;
    if (message.role === "assistant") for (const call of message.calls) chars += call.arguments.length;
    if (message.role === "user") chars += message.preface?.length ?? 0;
  }
  return chars;
}
