import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import {
  alternativesIn,
  isComposite,
  isOfType,
  isTyped,
  type Alternative,
  type Scalar,
  type Typed,
} from "./schema-alternatives.ts";
import { withoutAnnotations } from "./subschemas.ts";

/** One place where a schema accepts more than the one before it, such as `items.*.price`. The root has an empty path. */
export interface Wider {
  path: string;
  /** Such as `maximum 500 replaces 100`. */
  reason: string;
}

/** The cost that a comparison may have, in values. Without a limit, recursive definitions could take exponential time. */
export interface Budget {
  steps: number;
}

/**
 * The places where `after` accepts values that `before` does not. An object that lists properties and does not mention others
 * accepts only these (`withOpenObjects` makes it accept all). A difference that cannot be compared counts as wider. `results`: a
 * property that is no longer required is not a difference, because a result without it shows less.
 */
export function widerPlaces(
  before: JsonObject,
  after: JsonObject,
  { results = false, budget = { steps: 200_000 } }: { results?: boolean; budget?: Budget } = {},
): Wider[] {
  const roots = { before: withoutAnnotations(before), after: withoutAnnotations(after) };
  if (isSame(roots.before, roots.after, () => true, { whole: true })) return [];
  return new Comparison(roots, { results, budget }).compare(roots.before, roots.after, "");
}

class Comparison {
  readonly #results: boolean;
  readonly #spend: (steps?: number) => boolean;
  readonly #before: ReturnType<typeof alternativesIn>;
  readonly #after: ReturnType<typeof alternativesIn>;
  /** Pairs between the root and the current place. A recursive pair is compared once: if the outer one holds, so do inner ones. */
  readonly #open = new Map<JsonValue, Set<JsonValue>>();
  #depth = 0;

  constructor(roots: { before: JsonObject; after: JsonObject }, options: { results: boolean; budget: Budget }) {
    const { results, budget } = options;
    this.#results = results;
    this.#spend = (steps = 1) => (budget.steps -= steps) > 0;
    this.#before = alternativesIn(roots.before, this.#spend);
    this.#after = alternativesIn(roots.after, this.#spend);
  }

  compare(before: JsonValue, after: JsonValue, path: string): Wider[] {
    if (after === false || acceptsAnything(before) || isSame(before, after, this.#spend)) return [];
    const against = this.#open.get(after) ?? new Set();
    if (against.has(before)) return [];
    if (this.#depth === DEPTH) return [{ path, reason: INCOMPARABLE }];
    this.#open.set(after, against.add(before));
    this.#depth++;
    const found = this.#compareAlternatives(before, after, path);
    this.#depth--;
    against.delete(before);
    return found;
  }

  #compareAlternatives(before: JsonValue, after: JsonValue, path: string): Wider[] {
    const [were, are] = [this.#before(before), this.#after(after)];
    if (!were || !are || !this.#spend()) return [{ path, reason: INCOMPARABLE }];
    const apart = were.apart && are.apart;
    if (!apart && !isSame(compositesOf(were.list), compositesOf(are.list), this.#spend))
      return [{ path, reason: INCOMPARABLE }];
    return are.list.flatMap((one): Wider[] => {
      if (!isTyped(one)) return newValues(were.list, one.values, path);
      if (!apart && isComposite(one)) return [];
      const comparable = were.list.filter(isTyped).filter((was) => covers(was, one));
      const differences = comparable.map((was) => this.#compareTyped(was, one, path));
      if (differences.some(({ length }) => length === 0)) return [];
      if (differences.length === 1) return differences[0]!;
      return [{ path, reason: differences.length === 0 ? `type ${one.kind} is new` : "an alternative is new" }];
    });
  }

  #compareTyped(was: Typed, is: Typed, path: string): Wider[] {
    if (!this.#spend(ALTERNATIVE_STEPS)) return [{ path, reason: INCOMPARABLE }];
    const own = ownDifferences(was, is).map((reason) => ({ path, reason }));
    if (is.kind === "object") return [...own, ...this.#compareObjects(was.schema, is.schema, path)];
    return is.kind === "array" ? [...own, ...this.#compareItems(was.schema, is.schema, path)] : own;
  }

  #compareObjects(before: JsonObject, after: JsonObject, path: string): Wider[] {
    const [required, still] = [namesIn(before["required"]), namesIn(after["required"])];
    const optional = this.#results ? [] : required.filter((name) => !still.includes(name));
    const names = new Set([...listedIn(before), ...listedIn(after)]);
    return [
      ...optional.map((name) => ({ path: join(path, name), reason: "it is no longer required" })),
      ...[...names].flatMap((name): Wider[] => {
        const [was, is] = [propertyOf(before, name), propertyOf(after, name)];
        if (was === false && is !== false) return [{ path: join(path, name), reason: "the property is new" }];
        return this.compare(was, is, join(path, name));
      }),
      ...this.#compareUnlisted(before, after, path),
      ...this.compare(namesOf(before), namesOf(after), join(path, "*")),
    ];
  }

  #compareUnlisted(before: JsonObject, after: JsonObject, path: string): Wider[] {
    const [was, is] = [unlistedIn(before), unlistedIn(after)];
    if (was === false && is !== false) return [{ path, reason: "properties that the schema does not list are new" }];
    return this.compare(was, is, join(path, "*"));
  }

  #compareItems(before: JsonObject, after: JsonObject, path: string): Wider[] {
    const placed = Math.max(placesIn(before).length, placesIn(after).length);
    const places = Array.from({ length: placed }, (_, i) =>
      this.compare(itemOf(before, i), itemOf(after, i), join(path, String(i))),
    );
    return [...places.flat(), ...this.compare(before["items"] ?? true, after["items"] ?? true, join(path, "*"))];
  }
}

/** Comparing two alternatives costs about as much as comparing this number of values. */
const ALTERNATIVE_STEPS = 20;

/** References can nest deeper than any written schema. */
const DEPTH = 100;
const INCOMPARABLE = "it changed in a way that cannot be compared, so it counts as wider";
const TEXT: JsonObject = { type: "string" };

const join = (path: string, step: string): string => (path === "" ? step : `${path}.${step}`);
const namesIn = (required: JsonValue | undefined): string[] => (Array.isArray(required) ? (required as string[]) : []);
const acceptsAnything = (schema: JsonValue): boolean =>
  schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);

/** True for equal schemas without references. References in equal schemas may have different targets, unless the `whole` schemas are compared. */
function isSame(a: JsonValue, b: JsonValue, spend: () => boolean, { whole = false } = {}): boolean {
  const same = (one: JsonValue, other: JsonValue): boolean => {
    if (one === other) return true;
    if (!spend()) return false;
    if (Array.isArray(one))
      return Array.isArray(other) && one.length === other.length && one.every((item, i) => same(item, other[i]!));
    if (!isJsonObject(one) || !isJsonObject(other)) return false;
    const names = Object.keys(one);
    if (names.length !== Object.keys(other).length) return false;
    if (!whole && names.some((name) => name === "$ref" || name === "$dynamicRef")) return false;
    return names.every((name) => Object.hasOwn(other, name) && same(one[name]!, other[name]!));
  };
  return same(a, b);
}

function compositesOf(alternatives: readonly Alternative[]): JsonObject[] {
  return alternatives.filter(isComposite).map((one) => ({ [one.kind]: one.schema }));
}

function covers(was: Typed, is: Typed): boolean {
  return was.kind === is.kind || (was.kind === "number" && is.kind === "integer");
}

function newValues(before: readonly Alternative[], values: readonly Scalar[], path: string): Wider[] {
  const known = new Set(before.flatMap((one) => (isTyped(one) ? [] : one.values)));
  const typed = before.filter(isTyped);
  const fresh = values.filter((value) => !known.has(value) && !typed.some((one) => accepts(one, value)));
  return fresh.length === 0 ? [] : [{ path, reason: `${fresh.map(show).join(", ")} is new` }];
}

/** Does not run patterns and formats: an alternative that has one counts as refusing the value. */
function accepts(alternative: Typed, value: Scalar): boolean {
  if (!isOfType(value, alternative.kind)) return false;
  const lengthUnits = Array.from(String(value)).length;
  const exactly: JsonObject =
    typeof value === "number" ? { minimum: value, maximum: value } : { minLength: lengthUnits, maxLength: lengthUnits };
  return ownDifferences(alternative, { ...alternative, schema: exactly }).length === 0;
}

/** Keywords where a smaller number accepts more, where a larger one does, and keywords that must not change. */
const FLOORS = ["minLength", "minItems", "minProperties"];
const CEILINGS = ["maxLength", "maxItems", "maxProperties"];
const FIXED: Readonly<Record<string, readonly string[]>> = {
  string: ["pattern", "format", "contentEncoding", "contentMediaType"],
  number: ["format", "multipleOf"],
  integer: ["format", "multipleOf"],
  array: ["format", "uniqueItems"],
  object: ["format"],
};
const BOUNDED: Readonly<Record<string, string>> = { string: "Length", array: "Items", object: "Properties" };

/** The differences of an alternative's own keywords, without those of its properties and items. */
function ownDifferences(was: Typed, is: Typed): string[] {
  const fixed = FIXED[is.kind]!.flatMap((keyword) => compareFixed(keyword, was.schema[keyword], is.schema[keyword]));
  if (is.kind === "number" || is.kind === "integer") return [...fixed, ...compareRange(was, is)];
  const bounded = BOUNDED[is.kind]!;
  const among = (keywords: readonly string[]) => keywords.filter((keyword) => keyword.endsWith(bounded));
  return [
    ...fixed,
    ...among(FLOORS).flatMap((keyword) => compareBound(keyword, was.schema, is.schema, (a, b) => b >= a, 0)),
    ...among(CEILINGS).flatMap((keyword) => compareBound(keyword, was.schema, is.schema, (a, b) => b <= a, Infinity)),
  ];
}

function compareFixed(keyword: string, was: JsonValue | undefined, is: JsonValue | undefined): string[] {
  if (was === undefined || was === false || was === is) return [];
  return [is === undefined ? `${keyword} ${show(was)} is removed` : `${keyword} ${show(is)} replaces ${show(was)}`];
}

function compareBound(
  keyword: string,
  before: JsonObject,
  after: JsonObject,
  within: (was: number, is: number) => boolean,
  none: number,
): string[] {
  const [was, is] = [before[keyword], after[keyword]] as [number | undefined, number | undefined];
  if (was === undefined || within(was, is ?? none)) return [];
  return [is === undefined ? `${keyword} ${was} is removed` : `${keyword} ${is} replaces ${was}`];
}

/** A bound of numbers. For integers, the first one that is allowed. */
interface Bound {
  value: number;
  exclusive: boolean;
}

function compareRange(was: Typed, is: Typed): string[] {
  return [
    ...compareSide("minimum", floorOf(was), floorOf(is)),
    ...compareSide("maximum", negated(ceilingOf(was)), negated(ceilingOf(is))),
  ];
}

function compareSide(name: "minimum" | "maximum", was: Bound, is: Bound): string[] {
  if (is.value > was.value || (is.value === was.value && (is.exclusive || !was.exclusive))) return [];
  const shown = ({ value, exclusive }: Bound) =>
    `${name === "minimum" ? value : -value}${exclusive ? " (exclusive)" : ""}`;
  return [
    Number.isFinite(is.value) ? `${name} ${shown(is)} replaces ${shown(was)}` : `${name} ${shown(was)} is removed`,
  ];
}

const negated = ({ value, exclusive }: Bound): Bound => ({ value: -value, exclusive });

function floorOf({ kind, schema }: Typed): Bound {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = schema as Record<string, number>;
  const bound = { value: Math.max(minimum, exclusiveMinimum), exclusive: exclusiveMinimum >= minimum };
  if (!Number.isFinite(bound.value)) return { value: -Infinity, exclusive: false };
  if (kind === "number") return bound;
  return { value: bound.exclusive ? Math.floor(bound.value) + 1 : Math.ceil(bound.value), exclusive: false };
}

function ceilingOf(one: Typed): Bound {
  const { maximum = Infinity, exclusiveMaximum = Infinity } = one.schema as Record<string, number>;
  return negated(floorOf({ ...one, schema: { minimum: -maximum, exclusiveMinimum: -exclusiveMaximum } }));
}

function namesOf({ propertyNames = true }: JsonObject): JsonValue {
  return acceptsAnything(propertyNames) ? TEXT : propertyNames;
}

/** The schema of unlisted properties. False if they are refused or dropped. */
function unlistedIn(schema: JsonObject): JsonValue {
  return schema["additionalProperties"] ?? schema["properties"] === undefined;
}

function listedIn({ properties, required, additionalProperties }: JsonObject): string[] {
  const names = Object.keys((properties ?? {}) as JsonObject);
  return additionalProperties === undefined ? [...names, ...namesIn(required)] : names;
}

function propertyOf(schema: JsonObject, name: string): JsonValue {
  const properties = (schema["properties"] ?? {}) as JsonObject;
  if (Object.hasOwn(properties, name)) return properties[name]!;
  return listedIn(schema).includes(name) ? true : unlistedIn(schema);
}

function placesIn({ prefixItems }: JsonObject): JsonValue[] {
  return (prefixItems ?? []) as JsonValue[];
}

function itemOf(schema: JsonObject, index: number): JsonValue {
  return placesIn(schema)[index] ?? schema["items"] ?? true;
}

const SHOWN_UNITS = 80;

function show(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length <= SHOWN_UNITS ? text : `${text.slice(0, SHOWN_UNITS)}…`;
}
