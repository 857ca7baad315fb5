import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { followRef } from "../subschemas.ts";
import { compilePattern, type Pattern, type Steps, takeSteps } from "./pattern.ts";

/** Characters of a schema in one fault. */
export const MOST_TOLD = 500;

/** The values that an `enum` or `const` allows. */
export interface Allowed {
  texts: Set<string>;
  message: string;
}

/** One check of a value. It reads each long keyword once, because references visit a schema any number of times. */
export interface Check {
  root: JsonObject;
  steps: Steps;
  depth: number;
  patterns: Map<string, Pattern>;
  allowed: Map<object, Allowed>;
  entries: Map<JsonObject, [string, JsonValue][]>;
  refs: Map<string, JsonValue | undefined>;
}

export function createCheck(root: JsonObject, steps: number): Check {
  const lookups = { patterns: new Map(), allowed: new Map(), entries: new Map(), refs: new Map() };
  return { root, steps: { left: steps }, depth: 0, ...lookups };
}

/** The members of a keyword, of which there may be thousands: each visit of its schema goes through all of them. */
export function entriesOf(keyword: JsonValue | undefined, { entries, steps }: Check): [string, JsonValue][] {
  if (!isJsonObject(keyword)) return [];
  const known = kept(entries, keyword, () => Object.entries(keyword));
  takeSteps(steps, known.length);
  return known;
}

/** The schema that a reference leads to. Its text may be as long as the whole schema. */
export const targetOf = (ref: string, { refs, root }: Check): JsonValue | undefined =>
  kept(refs, ref, () => followRef(root, ref));

export const fits = (pattern: string, text: string, { patterns, steps }: Check): boolean =>
  kept(patterns, pattern, () => compilePattern(pattern)).test(text, steps);

/** The values of `list`, which is the keyword of `key`. */
export const allowedBy = (key: object, list: readonly JsonValue[], { allowed }: Check): Allowed =>
  kept(allowed, key, () => {
    const told = list.map((one) => JSON.stringify(one)).join(", ");
    const message = `must be ${list.length === 1 ? "" : "one of "}${told.slice(0, MOST_TOLD)}`;
    return { texts: new Set(list.map(canonicalJson)), message };
  });

function kept<Key, Value>(known: Map<Key, Value>, key: Key, read: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = read()));
  return value;
}
