import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { createMatcher, followRef, withFormats } from "@patchbay/schema";
import type { Slice } from "../code/slice.ts";
import { inTurns } from "./in-turns.ts";
import type { Reader } from "./reader.ts";
import { satisfy } from "./satisfy.ts";
import { at, type Draft, member, constant, type Place, root, truthGoal, UNKNOWN, waysTo, type Term } from "./terms.ts";

/** Calls for one function. More would leave no time for others. */
const MOST = 1_500;
/** Values for the condition in focus: those at its bounds. */
const MOST_VALUES = 8;
/** Steps to check one value. */
const STEPS = 20_000;

/** A call without its role. */
export interface Call {
  input: JsonValue;
  context: JsonObject;
}

/** What is known of the places in calls. */
export interface Known {
  input: JsonObject;
  context: JsonObject | undefined;
  roles: readonly string[];
  /** Values for a member by its schema and name. */
  valuesFor: (schema: JsonValue, name: string) => readonly JsonValue[];
}

/**
 * Calls near `bases` for each condition of deciding functions: one where it is true and one where it is false, with the
 * others as the code needs them to reach it, and the values at its bounds.
 */
export function solve(
  { entries }: Slice,
  { reader, ...known }: Known & { reader: Reader },
  bases: readonly Call[],
): Call[] {
  const places: Readonly<Record<string, Place>> = {
    role: rolePlace(known.roles),
    input: placeIn(withFormats(known.input), known),
    context: placeIn(withFormats(known.context ?? {}), known),
  };
  const field = (name: string) => places[name] && at(places[name], member(root, constant(name)));
  const call: Term = { ...root, field };
  const found = new Map<string, Call>();
  const searches = entries.flatMap(({ module, node }) => {
    const decision = reader.function(module, node).apply!([call]);
    return bases.flatMap((base) => [true, false].map((truth) => solutions(decision, truth, base)));
  });
  for (const { input, context } of inTurns(searches)) {
    if (!isJsonObject(context)) continue;
    found.set(canonicalJson([input, context]), { input, context });
    if (found.size >= MOST) break;
  }
  return [...found.values()];
}

function* solutions(decision: Term, truth: boolean, base: Draft): Iterable<Draft> {
  for (const { steps, focus } of waysTo(decision, truth)) {
    const [made] = satisfy(
      steps.filter(({ isSoft }) => !isSoft),
      base,
    );
    if (made === undefined) continue;
    const [best = made] = satisfy(steps, made);
    yield* best === made ? [made] : [best, made];
    if (focus) yield* Iterator.from(focus.term.to(truthGoal(focus.truth), best)).take(MOST_VALUES);
  }
}

const rolePlace = (roles: readonly string[]): Place => ({
  initial: UNKNOWN,
  values: roles,
  accepts: (value) => roles.includes(value as string),
  member: () => rolePlace(roles),
});

function placeIn(whole: JsonObject, { valuesFor }: Known): Place {
  const matches = createMatcher(whole);
  const place = (schema: JsonValue, name: string): Place => {
    const own = resolved(whole, schema);
    const { properties, items, additionalProperties } = own;
    return {
      initial: own["default"],
      values: name === "" ? [] : valuesFor(schema, name),
      accepts: (value) => matches(schema, value, { left: STEPS }) !== false,
      member: (next) =>
        place(
          (isJsonObject(properties) ? properties[next] : undefined) ??
            (/^\d+$/.test(next) ? items : additionalProperties || undefined) ??
            true,
          next,
        ),
    };
  };
  return place(whole, "");
}

/** References and branches within each other. */
const DEPTH = 8;

/** A schema without references, with the members of all its branches. */
function resolved(whole: JsonObject, schema: JsonValue, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > DEPTH) return {};
  const { $ref, anyOf, oneOf } = schema;
  if (typeof $ref === "string") return resolved(whole, followRef(whole, $ref) ?? true, depth + 1);
  const branches = [anyOf, oneOf].flatMap((some) => (Array.isArray(some) ? some : []));
  const properties = branches.flatMap((branch) =>
    Object.entries(resolved(whole, branch, depth + 1)["properties"] ?? {}),
  );
  return properties.length === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) };
}
