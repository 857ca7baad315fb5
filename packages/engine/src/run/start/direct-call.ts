import type { JsonObject } from "@patchbay/kit";

const LONGEST_NAME = 200;
/** Argument characters in a direct call's query text, which lists and titles show. */
const SHOWN_UNITS = 500;

/** The query for one call without a model. */
export function directCall(name: string, input: JsonObject) {
  const functionName = name.slice(0, LONGEST_NAME);
  const text = JSON.stringify(input);
  const shown = text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}…` : text;
  return { query: `${functionName} ${shown}`, analysisMode: false, testCall: { functionName, arguments: input } };
}
