import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Steps,
  takeSteps,
  TooManySteps,
} from "@patchbay/kit";
import { followRef } from "../subschemas.ts";
import { compilePattern, MOST_PARTS, type Pattern } from "./pattern.ts";

/** Schema characters in one fault. */
export const MOST_QUOTED = 500;

/** The values that an `enum` or `const` allows. */
export interface Allowed {
  texts: Set<string>;
  message: string;
}

/** One validation's state. Caches parsed long keywords, because references may visit a schema any number of times. */
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

/** The name of a value's type in JSON Schema. */
export function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** A keyword's entries. Takes a step for each, because a keyword may have thousands and every visit to its schema reads all. */
export function entriesOf(keyword: JsonValue | undefined, { entries, steps }: Check): [string, JsonValue][] {
  if (!isJsonObject(keyword)) return [];
  const known = cached(entries, keyword, () => Object.entries(keyword));
  takeSteps(steps, known.length);
  return known;
}

/** A reference's target. Cached, because a reference's text may be as long as the whole schema. */
export const targetOf = (ref: string, { refs, root }: Check): JsonValue | undefined =>
  cached(refs, ref, () => followRef(root, ref));

/** True if a text matches a schema pattern. */
export const matches = (pattern: string, text: string, { patterns, steps }: Check): boolean =>
  cached(patterns, pattern, () => compiled(pattern, steps)).test(text, steps);

const STEPS_OF_PART = 10;

/** Compiles with as many parts as there are steps for. */
function compiled(pattern: string, steps: Steps): Pattern {
  takeSteps(steps, pattern.length);
  const parts = Math.min(MOST_PARTS, Math.floor(steps.left / STEPS_OF_PART));
  const room = { parts };
  try {
    return compilePattern(pattern, room);
  } catch (error) {
    throw room.parts < 0 && parts < MOST_PARTS ? new TooManySteps() : error;
  } finally {
    steps.left -= STEPS_OF_PART * (parts - Math.max(0, room.parts));
  }
}

/** The values in an `enum` list or a `const`. `key` identifies the keyword in the cache. */
export const allowedBy = (key: object, list: readonly JsonValue[], { allowed, steps }: Check): Allowed =>
  cached(allowed, key, () => {
    takeSteps(steps, list.length);
    const text = list.map((item) => JSON.stringify(item)).join(", ");
    const message = `must be ${list.length === 1 ? "" : "one of "}${text.slice(0, MOST_QUOTED)}`;
    return { texts: new Set(list.map(canonicalJson)), message };
  });

function cached<Key, Value>(known: Map<Key, Value>, key: Key, read: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = read()));
  return value;
}

/** A value's canonical JSON. Takes a step for each character. */
export function canonicalText(value: JsonValue, { steps }: Check): string {
  const text = canonicalJson(value);
  takeSteps(steps, 1 + text.length);
  return text;
}
