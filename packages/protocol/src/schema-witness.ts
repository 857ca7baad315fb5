import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { createMatcher } from "./response-schema/validate.ts";
import { followRef, mapSchema } from "./subschemas.ts";

/** Finds a value that one schema accepts and another one refuses. */
export interface WitnessSearch {
  /**
   * A value that `after` accepts and `before` does not. Undefined without such a candidate, which proves nothing. `scalarsOnly`: for
   * schemas in which it depends on a union or a condition which properties pass.
   */
  find(before: JsonValue, after: JsonValue, options?: { scalarsOnly?: boolean }): JsonValue | undefined;
}

/** Steps of one check of a value. A schema that needs more has no witness. */
const STEPS = 200_000;
/** Candidates of one place. */
const CANDIDATES = 60;
const DEPTH = 6;

/**
 * Searches within two whole schemas. `results`: a missing property makes no difference. `spend` returns false when the budget of the
 * comparison is used up.
 */
export function witnessSearch(
  roots: { before: JsonObject; after: JsonObject },
  { results, spend }: { results: boolean; spend: (steps: number) => boolean },
): WitnessSearch {
  const prepare = () => {
    const [before, after] = [closedSchemas(roots.before, results), closedSchemas(roots.after, results)];
    return { before, after, refuses: createMatcher(before.root), accepts: createMatcher(after.root) };
  };
  /** Most schemas that are compared do not differ. */
  let prepared: ReturnType<typeof prepare> | undefined;
  const search = (was: JsonValue, is: JsonValue, scalarsOnly: boolean): JsonValue | undefined => {
    const { before, after, refuses, accepts } = (prepared ??= prepare());
    const [outer, inner] = [before.of(was), after.of(is)];
    const bounds = [...boundsOf(outer, before.root), ...boundsOf(inner, after.root)];
    let tried = 0;
    for (const value of candidates(inner, { root: after.root, bounds, depth: 0 })) {
      if (++tried > CANDIDATES || !spend(50)) return undefined;
      if (scalarsOnly && typeof value === "object" && value !== null) continue;
      if (accepts(inner, value, { left: STEPS }) !== true) continue;
      if (refuses(outer, value, { left: STEPS }) === false) return value;
    }
    return undefined;
  };
  return {
    find(was, is, { scalarsOnly = false } = {}) {
      try {
        return search(was, is, scalarsOnly);
      } catch {
        // A runtime may send keywords with values of any type. Such a schema has no witness.
        return undefined;
      }
    },
  };
}

/** Keywords whose schemas see only a part of a value, so that closing an object in them would refuse the other part. */
const PARTIAL = new Set(["allOf", "dependentSchemas", "else", "if", "not", "then", "contains"]);

/**
 * The schemas within `root`, with objects that accept only the properties that they list, as parsers drop all others, and with
 * patterns for formats.
 */
function closedSchemas(root: JsonObject, results: boolean) {
  const known = new Map<JsonValue, JsonValue>();
  const close = (schema: JsonValue, root = false): JsonValue => {
    if (!isJsonObject(schema)) return schema;
    const found = known.get(schema);
    if (found !== undefined) return found;
    const made = mapSchema(schema, (one, path) =>
      withFormat(path.some((step) => PARTIAL.has(step)) ? one : closeObject(results ? withoutRequired(one) : one)),
    );
    if (root) known.set(schema, made);
    return made;
  };
  return { root: close(root, true) as JsonObject, of: (schema: JsonValue) => close(schema) };
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

/** What every value of a format has. A looser text would only hide a witness. */
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

function withFormat(schema: JsonObject): JsonObject {
  const { format, pattern } = schema;
  const known = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return known === undefined || pattern !== undefined ? schema : { ...schema, pattern: known };
}

/** Values of the formats, and texts that have none of them. */
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
/** Longer texts would only be slow. */
const LONGEST = 20_000;

interface Search {
  root: JsonObject;
  /** Numbers of both schemas: a bound that moved lies between them. */
  bounds: readonly number[];
  depth: number;
}

/** Values that a schema may accept, simple ones first. */
function* candidates(schema: JsonValue, search: Search): Iterable<JsonValue> {
  if (search.depth > DEPTH || schema === false) return;
  const inner = { ...search, depth: search.depth + 1 };
  const { $ref, const: only, enum: listed, anyOf, oneOf, allOf, type } = isJsonObject(schema) ? schema : {};
  if (typeof $ref === "string") yield* candidates(followRef(search.root, $ref) ?? false, inner);
  if (only !== undefined) yield only;
  if (Array.isArray(listed)) yield* listed;
  for (const branches of [anyOf, oneOf, allOf])
    for (const branch of Array.isArray(branches) ? branches : []) yield* candidates(branch, inner);
  const types = type === undefined ? ["string", "number", "boolean", "null", "object", "array"] : [type].flat();
  const own = isJsonObject(schema) ? schema : {};
  for (const one of types) {
    if (one === "string") yield* texts(search);
    else if (one === "number" || one === "integer") yield* numbers(own, search);
    else if (one === "boolean") yield* [true, false];
    else if (one === "null") yield null;
    else if (one === "object") yield* objects(own, inner);
    else if (one === "array") yield* arrays(own, inner);
  }
}

function* texts({ bounds }: Search): Iterable<string> {
  yield* TEXTS;
  for (const length of new Set(bounds.flatMap((bound) => [bound + 1, bound, bound - 1])))
    if (Number.isInteger(length) && length > 1 && length <= LONGEST) yield "a".repeat(length);
}

function* numbers({ multipleOf }: JsonObject, { bounds }: Search): Iterable<number> {
  for (const bound of new Set(bounds)) yield* [bound + 1, bound - 1, bound, bound + 0.5, bound - 0.5];
  yield* NUMBERS;
  if (typeof multipleOf === "number") yield* [1, 2, 3, 5, 7].map((times) => times * multipleOf);
}

function* objects(schema: JsonObject, search: Search): Iterable<JsonObject> {
  const { properties, required, additionalProperties, propertyNames, minProperties } = schema;
  const members = isJsonObject(properties) ? properties : {};
  const needed = Array.isArray(required) ? (required as string[]) : [];
  const firstOf = (part: JsonValue): JsonValue | undefined => sampleOf(part, search);
  const base: JsonObject = {};
  for (const name of needed) {
    const value = firstOf(Object.hasOwn(members, name) ? members[name]! : (additionalProperties ?? true));
    if (value === undefined) return;
    base[name] = value;
  }
  for (const name of Object.keys(members)) {
    const value = Object.hasOwn(base, name) ? undefined : firstOf(members[name]!);
    if (value !== undefined) yield { ...base, [name]: value };
  }
  yield base;
  const other = firstOf(additionalProperties ?? true);
  if (other === undefined) return;
  const names = isJsonObject(propertyNames) ? [...candidates(propertyNames, search)].slice(0, 5) : ["other"];
  for (const name of names) if (typeof name === "string") yield { ...base, [name]: other };
  const count = Math.max(typeof minProperties === "number" ? minProperties : 0, ...search.bounds.map((one) => one + 1));
  if (count > 0 && count < 1_000)
    yield { ...base, ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`other${i}`, other])) };
}

function* arrays({ items = true, prefixItems, minItems }: JsonObject, search: Search): Iterable<JsonValue[]> {
  const placed = (Array.isArray(prefixItems) ? prefixItems : []).map((one) => sampleOf(one, search) ?? null);
  const item = sampleOf(items, search);
  yield placed;
  if (item === undefined) return yield [];
  const lengths = [
    typeof minItems === "number" ? minItems : 0,
    1,
    2,
    ...search.bounds.flatMap((one) => [one, one + 1]),
  ];
  for (const length of new Set(lengths))
    if (Number.isInteger(length) && length >= 0 && length < 1_000)
      yield [...placed.slice(0, length), ...Array.from({ length: Math.max(0, length - placed.length) }, () => item)];
}

/** One value that the schema accepts. */
function sampleOf(schema: JsonValue, search: Search): JsonValue | undefined {
  const accepts = createMatcher(search.root);
  let tried = 0;
  for (const value of candidates(schema, { ...search, bounds: boundsOf(schema, search.root) })) {
    if (accepts(schema, value, { left: STEPS }) === true) return value;
    if (++tried > CANDIDATES) return undefined;
  }
  return undefined;
}

const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
];

/** The numbers that limit a schema, also in its branches. */
function boundsOf(schema: JsonValue, root: JsonObject, depth = 0): number[] {
  if (!isJsonObject(schema) || depth > 3) return [];
  const { $ref, anyOf, oneOf, allOf } = schema;
  const own = BOUNDS.flatMap((name) => (typeof schema[name] === "number" ? [schema[name]] : []));
  const target = typeof $ref === "string" ? [followRef(root, $ref) ?? false] : [];
  const branches = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []));
  return [...own, ...[...target, ...branches].flatMap((one) => boundsOf(one, root, depth + 1))];
}
