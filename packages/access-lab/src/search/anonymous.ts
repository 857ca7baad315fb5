import { canonicalJson, type JsonObject, withUnknownIds } from "@patchbay/kit";
import type { ServiceFacts } from "./facts.ts";
import { type Call, type Decisions, rankOf } from "./judge.ts";
import type { Version } from "./search.ts";

/** A call that the search tried, with its decisions. */
export interface Tried {
  call: Call;
  decisions: Decisions;
}

/** True for a context that states no identity. */
export function anonymousContexts({ unnamed }: ServiceFacts): (context: JsonObject) => boolean {
  const known = new Set(unnamed.map(canonicalJson));
  return (context) => Object.keys(context).length === 0 || known.has(canonicalJson(context));
}

export const allows = (letter: string | undefined): boolean => rankOf(letter) > 0;

/** Denied calls in which an id is replaced, for one role. */
const MOST_CALLS = 200;

/**
 * Calls with an id that no record has, which a role may make although it may not make them with the record of another
 * identity: a rule for a missing record permits them. Without declared cases.
 */
export async function unknownIdsIn(
  tried: readonly Tried[],
  { functionName, version: { facts, judge } }: { functionName: string; version: Version },
): Promise<{ call: Call; roles: string[]; kind: "unknown id" }[]> {
  const { columns, functions } = facts;
  const isUnnamed = anonymousContexts(facts);
  const named = tried.filter(({ call }) => !isUnnamed(call.context));
  const declared = new Set(functions[functionName]!.cases.map(({ input }) => canonicalJson(input)));
  const found: Awaited<ReturnType<typeof unknownIdsIn>> = [];
  for (const [c, column] of columns.entries()) {
    const own = new Set(
      named.flatMap(({ call, decisions }) => (allows(decisions[c]) ? canonicalJson(call.input) : [])),
    );
    const foreign = named.filter(({ call, decisions }) => decisions[c] === "d" && own.has(canonicalJson(call.input)));
    const calls = foreign
      .slice(0, MOST_CALLS)
      .flatMap(({ call: { input, context } }) => [...withUnknownIds(input)].map((other) => ({ input: other, context })))
      .filter(({ input }) => !declared.has(canonicalJson(input)));
    const call = calls[(await judge(functionName, [column], calls)).findIndex(allows)];
    const known = found.find((one) => canonicalJson(one.call) === canonicalJson(call));
    if (known) known.roles.push(column);
    else if (call) found.push({ call, roles: [column], kind: "unknown id" });
  }
  return found;
}
