import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps, within } from "@patchbay/kit";
import { createMatcher } from "./answer/validate.ts";
import { boundsOf } from "./bounds.ts";
import { followRef, mapSchema, takeSchema } from "./subschemas.ts";

/** A value that one schema accepts and another refuses; undefined if none was found, which proves nothing. */
export interface Found {
  witness?: JsonValue;
  /** False if the search needs more steps than it may take. */
  isComplete: boolean;
}

/** The share that one search may take of the steps: many places need them. */
const SHARE = 1 / 8;
/** Steps for one value check. A schema that needs more has no witness. */
const STEPS = 200_000;
const STEPS_OF_CANDIDATE = 20;
/** Copying an object member or an array item. */
const STEPS_OF_MEMBER = 3;
/** Candidates for one place. */
const CANDIDATES = 60;
const DEPTH = 6;

type Accepts = (schema: JsonValue, value: JsonValue) => boolean | undefined;

/** Searches within two whole schemas. `results`: a missing property makes no difference. */
export function witnessSearch(
  roots: { before: JsonObject; after: JsonObject },
  { results, steps }: { results: boolean; steps: Steps },
) {
  const close = (own: Steps) => ({
    before: closedSchemas(roots.before, results, own),
    after: closedSchemas(roots.after, results, own),
  });
  /** Made for the first search: most schemas that are compared do not differ. Null if that takes too many steps. */
  let closed: ReturnType<typeof close> | null | undefined;
  const search = (was: JsonValue, is: JsonValue, scalarsOnly: boolean, own: Steps): JsonValue | undefined => {
    const { before, after } = closed!;
    const [outer, inner] = [before.of(was, own), after.of(is, own)];
    const bounds = [...new Set([...boundsOf(outer, before.root, own), ...boundsOf(inner, after.root, own)])];
    const accepts = checkBy(after.matcher, own);
    const refuses = checkBy(before.matcher, own);
    let tried = 0;
    for (const value of candidates(inner, { root: after.root, accepts, steps: own, bounds, depth: 0 })) {
      if (++tried > CANDIDATES) return undefined;
      if (scalarsOnly && typeof value === "object" && value !== null) continue;
      if (accepts(inner, value) === true && refuses(outer, value) === false) return value;
    }
    return undefined;
  };
  return {
    /**
     * A value that `is` accepts and `was` does not. `scalarsOnly`: for schemas in which it depends on a union or a
     * condition which properties pass.
     */
    find(was: JsonValue, is: JsonValue, { scalarsOnly = false } = {}): Found {
      const look = (own: Steps): Found => {
        const witness = search(was, is, scalarsOnly, own);
        return witness === undefined ? { isComplete: true } : { witness, isComplete: true };
      };
      try {
        if (closed === undefined) closed = within(steps, steps.left / 2, close, () => null);
        return closed === null
          ? { isComplete: false }
          : within(steps, steps.left * SHARE, look, () => ({ isComplete: false }));
      } catch {
        // A runtime may send keywords with values of any type. Such a schema has no witness.
        return { isComplete: true };
      }
    },
  };
}

type Matcher = ReturnType<typeof createMatcher>;

/** Checks values with the search's steps. */
function checkBy(matcher: Matcher, steps: Steps): Accepts {
  return (schema, value) => {
    const given = Math.min(STEPS, steps.left);
    const own = { left: given };
    const answer = matcher(schema, value, own);
    takeSteps(steps, given - own.left);
    return answer;
  };
}

/** Keywords whose schemas see only part of a value, so that closing an object in them would refuse the rest. */
const PARTIAL = new Set(["allOf", "dependentSchemas", "else", "if", "not", "then", "contains"]);

interface ClosedSchemas {
  root: JsonObject;
  matcher: Matcher;
  of(schema: JsonValue, steps: Steps): JsonValue;
}

/**
 * The schemas within `root`, with objects that accept only listed properties, as parsers drop all others, and with
 * patterns for formats.
 */
function closedSchemas(whole: JsonObject, results: boolean, steps: Steps): ClosedSchemas {
  const close = (schema: JsonObject, own: Steps): JsonObject =>
    mapSchema(
      schema,
      (part, path) =>
        withFormat(path.some((step) => PARTIAL.has(step)) ? part : closeObject(results ? withoutRequired(part) : part)),
      own,
    );
  const root = close(whole, steps);
  const of = (schema: JsonValue, own: Steps) =>
    schema === whole ? root : isJsonObject(schema) ? close(schema, own) : schema;
  return { root, matcher: createMatcher(root), of };
}

/** A result without a property shows less, so it does not prove that more is sent. */
function withoutRequired(schema: JsonObject): JsonObject {
  const { required: _, ...rest } = schema;
  return rest;
}

function closeObject(schema: JsonObject): JsonObject {
  const { properties, required, additionalProperties } = schema;
  if (properties === undefined || additionalProperties !== undefined) return schema;
  const named = Array.isArray(required) ? Object.fromEntries((required as string[]).map((name) => [name, true])) : {};
  return { ...schema, properties: { ...named, ...(properties as JsonObject) }, additionalProperties: false };
}

/** A text that every value in a format contains. A looser text would only hide a witness. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "@",
  uuid: "^[0-9a-fA-F-]{36}$",
  date: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
  "date-time": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T",
  ipv4: "[.]",
  ipv6: ":",
  uri: ":",
  duration: "^P",
};

/** The schemas within `root`, with patterns for formats. */
export const withFormats = (root: JsonObject): JsonObject => mapSchema(root, withFormat);

function withFormat(schema: JsonObject): JsonObject {
  const { format, pattern } = schema;
  const known = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return known === undefined || pattern !== undefined ? schema : { ...schema, pattern: known };
}

/** Format values, and texts in no format. */
const TEXTS = [
  "a",
  "",
  "A",
  "1",
  "2026-01-31",
  "2026-01-31T12:00:00Z",
  "ada@example.com",
  "ada@example.org",
  "https://example.com/a",
  "8a4b3c1e-5b1a-4c7e-9a55-2f4f0c9b7d10",
  "10.0.0.1",
  "P1D",
];
const NUMBERS = [1, 0, -1, 0.5, 2, 1e9, -1e9, 1e15];
/** Longer texts, and larger objects and arrays, would only be slow. */
const LONGEST = 20_000;
const MOST_MEMBERS = 1_000;
/** Names that are tried for unlisted properties. */
const NAMES = 5;

interface Search {
  root: JsonObject;
  /** Whether a schema within `root` accepts a value. */
  accepts: Accepts;
  steps: Steps;
  /** Numbers from both schemas: a bound that moved lies between them. */
  bounds: readonly number[];
  depth: number;
}

/** Values that a schema may accept, simple ones first. */
function* candidates(schema: JsonValue, search: Search): Iterable<JsonValue> {
  takeSteps(search.steps, STEPS_OF_CANDIDATE);
  if (search.depth > DEPTH || schema === false) return;
  const inner = { ...search, depth: search.depth + 1 };
  const own = isJsonObject(schema) ? schema : {};
  takeSchema(search.steps, own);
  const { $ref, const: only, enum: listed, anyOf, oneOf, allOf, type } = own;
  if (typeof $ref === "string") yield* candidates(followRef(search.root, $ref) ?? false, inner);
  if (only !== undefined) yield only;
  if (Array.isArray(listed)) yield* listed;
  for (const branches of [anyOf, oneOf, allOf])
    for (const branch of Array.isArray(branches) ? branches : []) yield* candidates(branch, inner);
  const types = type === undefined ? ["string", "number", "boolean", "null", "object", "array"] : [type].flat();
  for (const name of types) {
    if (name === "string") yield* texts(search);
    else if (name === "number" || name === "integer") yield* numbers(own, search);
    else if (name === "boolean") yield* [true, false];
    else if (name === "null") yield null;
    else if (name === "object") yield* objects(own, inner);
    else if (name === "array") yield* arrays(own, inner);
  }
}

function* texts({ bounds, steps }: Search): Iterable<string> {
  yield* TEXTS;
  takeSteps(steps, STEPS_OF_MEMBER * bounds.length);
  for (const length of new Set(bounds.flatMap((bound) => [bound + 1, bound, bound - 1])))
    if (Number.isInteger(length) && length > 1 && length <= LONGEST) yield "a".repeat(length);
}

function* numbers({ multipleOf }: JsonObject, { bounds }: Search): Iterable<number> {
  for (const bound of bounds) yield* [bound + 1, bound - 1, bound, bound + 0.5, bound - 0.5];
  yield* NUMBERS;
  if (typeof multipleOf === "number") yield* [1, 2, 3, 5, 7].map((times) => times * multipleOf);
}

function* objects(schema: JsonObject, search: Search): Iterable<JsonObject> {
  const { properties, required, additionalProperties, propertyNames, minProperties } = schema;
  const members = isJsonObject(properties) ? properties : {};
  const needed = Array.isArray(required) ? (required as string[]) : [];
  const base: JsonObject = {};
  for (const name of needed) {
    const value = sampleOf(Object.hasOwn(members, name) ? members[name]! : (additionalProperties ?? true), search);
    if (value === undefined) return;
    base[name] = value;
  }
  const withMembers = (more: JsonObject, count = 1): JsonObject => {
    takeSteps(search.steps, STEPS_OF_MEMBER * (needed.length + count));
    return { ...base, ...more };
  };
  for (const name of Object.keys(members)) {
    const value = Object.hasOwn(base, name) ? undefined : sampleOf(members[name]!, search);
    if (value !== undefined) yield withMembers({ [name]: value });
  }
  yield base;
  const other = sampleOf(additionalProperties ?? true, search);
  if (other === undefined) return;
  for (const name of isJsonObject(propertyNames) ? firstOf(candidates(propertyNames, search), NAMES) : ["other"])
    if (typeof name === "string") yield withMembers({ [name]: other });
  const least = typeof minProperties === "number" ? minProperties : 0;
  const count = Math.max(least, ...search.bounds.map((bound) => bound + 1));
  if (count > 0 && count < MOST_MEMBERS)
    yield withMembers(Object.fromEntries(Array.from({ length: count }, (_, i) => [`other${i}`, other])), 5 * count);
}

function* arrays({ items = true, prefixItems, minItems }: JsonObject, search: Search): Iterable<JsonValue[]> {
  const placed = (Array.isArray(prefixItems) ? prefixItems : []).map((part) => sampleOf(part, search) ?? null);
  const item = sampleOf(items, search);
  yield placed;
  if (item === undefined) return yield [];
  const lengths = [
    typeof minItems === "number" ? minItems : 0,
    1,
    2,
    ...search.bounds.flatMap((bound) => [bound, bound + 1]),
  ];
  for (const length of new Set(lengths)) {
    takeSteps(search.steps);
    if (!Number.isInteger(length) || length < 0 || length >= MOST_MEMBERS) continue;
    takeSteps(search.steps, STEPS_OF_MEMBER * length);
    yield [...placed.slice(0, length), ...Array.from({ length: Math.max(0, length - placed.length) }, () => item)];
  }
}

/** One value that the schema accepts. */
function sampleOf(schema: JsonValue, search: Search): JsonValue | undefined {
  const bounds = boundsOf(schema, search.root, search.steps);
  let tried = 0;
  for (const value of candidates(schema, { ...search, bounds })) {
    if (search.accepts(schema, value) === true) return value;
    if (++tried > CANDIDATES) return undefined;
  }
  return undefined;
}

function* firstOf<T>(values: Iterable<T>, count: number): Iterable<T> {
  let left = count;
  for (const value of values) {
    if (left-- === 0) return;
    yield value;
  }
}
