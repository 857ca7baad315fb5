import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { followRef } from "../subschemas.ts";
import { compilePattern, type Pattern, type Steps, takeSteps } from "./pattern.ts";

/** Characters of a schema in one fault. */
export const MOST_QUOTED = 500;

/** The values that an `enum` or `const` allows. */
export interface Allowed {
  texts: Set<string>;
  message: string;
}

/** The state of one validation. Caches the parsed form of long keywords, because references may visit a schema any number of times. */
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

/** The entries of a keyword. Takes a step for each, because a keyword may have thousands and every visit of its schema reads all. */
export function entriesOf(keyword: JsonValue | undefined, { entries, steps }: Check): [string, JsonValue][] {
  if (!isJsonObject(keyword)) return [];
  const known = cached(entries, keyword, () => Object.entries(keyword));
  takeSteps(steps, known.length);
  return known;
}

/** The target of a reference. Cached, because the text of a reference may be as long as the whole schema. */
export const targetOf = (ref: string, { refs, root }: Check): JsonValue | undefined =>
  cached(refs, ref, () => followRef(root, ref));

/** True if a text matches a pattern of the schema. */
export const matches = (pattern: string, text: string, { patterns, steps }: Check): boolean =>
  cached(patterns, pattern, () => compilePattern(pattern)).test(text, steps);

/** The values of the list of an `enum`, or of a `const`. `key` identifies the keyword in the cache. */
export const allowedBy = (key: object, list: readonly JsonValue[], { allowed, steps }: Check): Allowed =>
  cached(allowed, key, () => {
    takeSteps(steps, list.length);
    const text = list.map((one) => JSON.stringify(one)).join(", ");
    const message = `must be ${list.length === 1 ? "" : "one of "}${text.slice(0, MOST_QUOTED)}`;
    return { texts: new Set(list.map(canonicalJson)), message };
  });

function cached<Key, Value>(known: Map<Key, Value>, key: Key, read: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = read()));
  return value;
}

/** The canonical JSON of a value. Takes a step for each character. */
export function canonicalText(value: JsonValue, { steps }: Check): string {
  const text = canonicalJson(value);
  takeSteps(steps, 1 + text.length);
  return text;
}
