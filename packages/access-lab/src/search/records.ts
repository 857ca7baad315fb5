import type { JsonValue } from "@patchbay/kit";
import { allows, type Tried } from "./anonymous.ts";
import type { FunctionFacts } from "./facts.ts";
import type { Call } from "./judge.ts";

/** The texts in a value as JSON, each after its place. */
const textsIn = (value: JsonValue, place = ""): string[] =>
  typeof value === "string"
    ? [`${place}=${JSON.stringify(value)}`]
    : Object.entries(value ?? {}).flatMap(([name, member]) => textsIn(member as JsonValue, `${place}/${name}`));

/**
 * Finds calls whose records do not exist: a text in them, which neither the schema nor the code has, is in no allowed
 * call of the roles that may make some calls only. Returns these roles, and undefined for any other call.
 */
export function recordFinder(tried: readonly Tried[], columns: readonly string[], facts: FunctionFacts) {
  const code = JSON.stringify([facts.input, facts.dictionary.texts]);
  const restricted = columns.flatMap((column, c) => {
    const allowed = tried.filter(({ decisions }) => allows(decisions[c]));
    const isRestricted = allowed.length > 0 && tried.some(({ decisions }) => decisions[c] === "d");
    return isRestricted ? [{ column, texts: new Set(allowed.flatMap(({ call }) => textsIn(call.input))) }] : [];
  });
  return ({ input }: Call): string[] | undefined => {
    const open = textsIn(input).filter((text) => !code.includes(text.slice(text.indexOf("=") + 1)));
    const isUnknown = restricted.every(({ texts }) => open.some((text) => !texts.has(text)));
    return isUnknown && restricted.length > 0 ? restricted.map(({ column }) => column) : undefined;
  };
}
