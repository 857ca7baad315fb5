import type { JsonObject } from "@patchbay/protocol";

const LONGEST_NAME = 200;
/** Characters of the arguments in the query text of a direct call, which lists and titles show. */
const SHOWN_UNITS = 500;

/** The query of one call without a model. */
export function directCall(name: string, input: JsonObject) {
  const functionName = name.slice(0, LONGEST_NAME);
  const text = JSON.stringify(input);
  const shown = text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}…` : text;
  return {
    query: `${functionName} ${shown}`,
    analysisMode: false,
    testCall: { functionName, arguments: input },
  };
}
