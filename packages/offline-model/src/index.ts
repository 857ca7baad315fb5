import { writeAnswer, writePlan, writeThought } from "./answer.ts";
import {
  EXAMPLE_QUERIES,
  type ModelCall,
  type ModelProvider,
  type ModelRequest,
  type ModelTurn,
} from "@patchbay/engine/ports/model-provider";
import { readSituation } from "./agenda.ts";
import { writeValue } from "./structured.ts";

const NAME = "offline";
const MAX_CALLS_PER_TURN = 8;
const CHARS_PER_TOKEN = 4;

/**
 * A model without a key or a network. It matches the words of a query with the functions that it sees, and fills their arguments
 * from the conversation. It is deterministic, and stores no state between turns.
 */
export const offlineModel: ModelProvider = {
  name: NAME,
  async *stream(request, { signal }) {
    signal.throwIfAborted();
    const turn = takeTurn(request);
    for (const thought of turn.thoughts) yield { type: "thoughtDelta", text: thought };
    for (const text of turn.text.match(/\S+\s*|\s+/gu) ?? []) {
      signal.throwIfAborted();
      yield { type: "textDelta", text };
    }
    yield { type: "end", turn };
  },
};

/** Its usage is an estimate: one token for every four characters. */
function takeTurn(request: ModelRequest): ModelTurn {
  const { respond, toolChoice, messages, temperature, reasoning = "none" } = request;
  const functions = respond ? request.functions.filter((fn) => fn !== respond) : request.functions;
  const situation = readSituation({ messages, functions });
  const planned = toolChoice === "auto" ? situation.calls.slice(0, MAX_CALLS_PER_TURN) : [];
  const value = planned.length === 0 && toolChoice !== "none" ? respond : undefined;
  const isPlanning = toolChoice === "none" && situation.conversation.made.length === 0;
  const calls: ModelCall[] = value
    ? [{ id: "call_1", name: value.name, arguments: JSON.stringify(writeValue(value.inputSchema, situation)) }]
    : planned.map(({ fn, arguments: input }, at) => {
        return { id: `call_${at + 1}`, name: fn.name, arguments: JSON.stringify(input) };
      });
  const write = () => (isPlanning ? writePlan(situation) : writeAnswer(situation, request[EXAMPLE_QUERIES]));
  const full = calls.length > 0 ? "" : write();
  const text = full.slice(0, request.maxTokens * CHARS_PER_TOKEN);
  const thought = writeThought({ ...situation, calls: planned });
  const warnings = [
    ...(temperature === undefined ? [] : ["The offline model takes no temperature."]),
    ...(reasoning === "none" ? [] : ["The offline model has no reasoning."]),
    ...(value ? ["The offline model filled the answer's members by their names. It is not a language model."] : []),
  ];
  return {
    text,
    thoughts: [thought],
    calls,
    stop: calls.length > 0 ? "calls" : text.length < full.length ? "length" : "stop",
    usage: {
      input:
        tokens(request.system, ...messages.flatMap(textsIn)) + Math.ceil(situation.set.sizeChars / CHARS_PER_TOKEN),
      cachedInput: 0,
      output: tokens(text, thought, ...calls.flatMap((call) => [call.name, call.arguments])),
    },
    model: NAME,
    ...(warnings.length > 0 && { warnings }),
  };
}

const tokens = (...texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / CHARS_PER_TOKEN);

function textsIn(message: ModelRequest["messages"][number]): string[] {
  if (message.role === "results") return message.results.map(({ content }) => content);
  if (message.role === "user") return [message.text, message.preface ?? ""];
  return [message.text, ...message.calls.map((call) => call.arguments)];
}
