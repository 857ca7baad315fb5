import type { JsonObject } from "@patchbay/protocol";
import type { ChosenModel, ModelProvider, ModelTurn } from "../ports/model-provider.ts";
import type { TrialCall } from "../ports/records.ts";

/** The provider's name as runs keep it. It is in no catalog, so that no query can ask for it. */
export const TRIAL = "trial";
/** Of the arguments, so much stands in the text that lists and titles show. */
const SHOWN_UNITS = 500;

/**
 * What a run uses whose one call is known beforehand: its first turn asks for the call, its second ends the run. Everything
 * between the two is what a model's call goes through. Costs nothing.
 */
export function trialModel(call: TrialCall): ChosenModel {
  return { provider: trialProvider(call), model: TRIAL, cost: () => 0 };
}

/** The text of a run that tries a function. */
export function trialQuery(functionName: string, input: JsonObject): string {
  const text = JSON.stringify(input);
  return `${functionName} ${text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}…` : text}`;
}

function trialProvider({ functionName, arguments: input }: TrialCall): ModelProvider {
  return {
    name: TRIAL,
    async *stream({ messages }, { signal }) {
      signal.throwIfAborted();
      const called = messages.at(-1)?.role === "results";
      const call = { id: "trial_1", name: functionName, arguments: JSON.stringify(input) };
      const turn: ModelTurn = {
        text: called ? `${functionName} was tried.` : "",
        thoughts: [],
        calls: called ? [] : [call],
        stop: called ? "stop" : "calls",
        usage: { input: 0, cachedInput: 0, output: 0 },
        model: TRIAL,
      };
      yield { type: "end", turn };
    },
  };
}
