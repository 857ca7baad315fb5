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

/** One place where a schema takes more than the one before it, such as `items.*.price`; an empty path is the root. */
export interface Wider {
  path: string;
  /** Such as `maximum 500 replaces 100`. */
  reason: string;
}

/** What a comparison may cost, in values that it looks at. Recursive definitions could otherwise take exponential time. */
export interface Budget {
  steps: number;
}

/**
 * The places where `after` takes values that `before` does not; empty when there are none. An object that lists its members and
 * says nothing of others takes only these (`withOpenObjects` makes it take all). What cannot be compared and differs counts as wider.
 * `results`: a member that may now be missing is no difference, because it shows less.
 */
export function widerPlaces(
  before: JsonObject,
  after: JsonObject,
  { results = false, budget = { steps: 200_000 } }: { results?: boolean; budget?: Budget } = {},
): Wider[] {
  const roots = { before: withoutAnnotations(before), after: withoutAnnotations(after) };
  const spend = (steps = 1) => (budget.steps -= steps) > 0;
  const [alternativesBefore, alternativesAfter] = [
    alternativesIn(roots.before, spend),
    alternativesIn(roots.after, spend),
  ];
  /** Pairs on the way from the root: a recursive schema is compared once, and its inner occurrences hold where the outer one does. */
  const open = new Map<JsonValue, Set<JsonValue>>();
  let depth = 0;

  const compare = (before: JsonValue, after: JsonValue, path: string): Wider[] => {
    if (after === false || takesAnything(before) || isSame(before, after, spend)) return [];
    const against = open.get(after) ?? new Set();
    if (against.has(before)) return [];
    if (depth === DEPTH) return [{ path, reason: INCOMPARABLE }];
    open.set(after, against.add(before));
    depth++;
    const found = compareAlternatives(before, after, path);
    depth--;
    against.delete(before);
    return found;
  };

  const compareAlternatives = (before: JsonValue, after: JsonValue, path: string): Wider[] => {
    const [were, are] = [alternativesBefore(before), alternativesAfter(after)];
    if (!were || !are || !spend()) return [{ path, reason: INCOMPARABLE }];
    const apart = were.apart && are.apart;
    if (!apart && !isSame(compositesOf(were.list), compositesOf(are.list), spend))
      return [{ path, reason: INCOMPARABLE }];
    return are.list.flatMap((one): Wider[] => {
      if (!isTyped(one)) return newValues(were.list, one.values, path);
      if (!apart && isComposite(one)) return [];
      const comparable = were.list.filter(isTyped).filter((was) => covers(was, one));
      const differences = comparable.map((was) => compareTyped(was, one, path));
      if (differences.some(({ length }) => length === 0)) return [];
      if (differences.length === 1) return differences[0]!;
      return [{ path, reason: differences.length === 0 ? `type ${one.kind} is new` : "an alternative is new" }];
    });
  };

  const compareTyped = (was: Typed, is: Typed, path: string): Wider[] => {
    if (!spend(ALTERNATIVE_STEPS)) return [{ path, reason: INCOMPARABLE }];
    const own = ownDifferences(was, is).map((reason) => ({ path, reason }));
    if (is.kind === "object") return [...own, ...compareObjects(was.schema, is.schema, path)];
    return is.kind === "array" ? [...own, ...compareItems(was.schema, is.schema, path)] : own;
  };

  const compareObjects = (before: JsonObject, after: JsonObject, path: string): Wider[] => {
    const [required, still] = [namesIn(before["required"]), namesIn(after["required"])];
    const optional = results ? [] : required.filter((name) => !still.includes(name));
    const names = new Set([...listedIn(before), ...listedIn(after)]);
    return [
      ...optional.map((name) => ({ path: join(path, name), reason: "it is no longer required" })),
      ...[...names].flatMap((name): Wider[] => {
        const [was, is] = [memberOf(before, name), memberOf(after, name)];
        if (was === false && is !== false) return [{ path: join(path, name), reason: "the member is new" }];
        return compare(was, is, join(path, name));
      }),
      ...compareOthers(before, after, path),
      ...compare(namesOf(before), namesOf(after), join(path, "*")),
    ];
  };

  const compareOthers = (before: JsonObject, after: JsonObject, path: string): Wider[] => {
    const [was, is] = [othersIn(before), othersIn(after)];
    if (was === false && is !== false) return [{ path, reason: "members that the schema does not list are new" }];
    return compare(was, is, join(path, "*"));
  };

  const compareItems = (before: JsonObject, after: JsonObject, path: string): Wider[] => {
    const placed = Math.max(placesIn(before).length, placesIn(after).length);
    const places = Array.from({ length: placed }, (_, i) =>
      compare(itemOf(before, i), itemOf(after, i), join(path, String(i))),
    );
    return [...places.flat(), ...compare(before["items"] ?? true, after["items"] ?? true, join(path, "*"))];
  };

  const unchanged = isSame(roots.before, roots.after, () => true, { whole: true });
  return unchanged ? [] : compare(roots.before, roots.after, "");
}

/** Comparing two alternatives costs about as much as looking at so many values. */
const ALTERNATIVE_STEPS = 20;

/** References can nest deeper than any written schema. */
const DEPTH = 100;
const INCOMPARABLE = "it changed in a way that cannot be compared, so it counts as wider";
const TEXT: JsonObject = { type: "string" };

const join = (path: string, step: string): string => (path === "" ? step : `${path}.${step}`);
const namesIn = (required: JsonValue | undefined): string[] => (Array.isArray(required) ? (required as string[]) : []);
const takesAnything = (schema: JsonValue): boolean =>
  schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);

/** Equal texts with equal meaning: a reference within may lead elsewhere, unless the whole schema is compared. */
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
  const fresh = values.filter((value) => !known.has(value) && !typed.some((one) => takes(one, value)));
  return fresh.length === 0 ? [] : [{ path, reason: `${fresh.map(show).join(", ")} is new` }];
}

/** Patterns and formats are not run here, so a value of such an alternative counts as not taken. */
function takes(alternative: Typed, value: Scalar): boolean {
  if (!isOfType(value, alternative.kind)) return false;
  const lengthUnits = Array.from(String(value)).length;
  const exactly: JsonObject =
    typeof value === "number" ? { minimum: value, maximum: value } : { minLength: lengthUnits, maxLength: lengthUnits };
  return ownDifferences(alternative, { ...alternative, schema: exactly }).length === 0;
}

/** Keywords where a smaller number takes more, those where a larger one does, and those that must stay. */
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

/** What the keywords of an alternative itself say of its widening, without those of its members and items. */
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

/** A bound of numbers; of integers, the first one within it. */
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
  return takesAnything(propertyNames) ? TEXT : propertyNames;
}

/** False where a member that is not listed is refused or dropped. */
function othersIn(schema: JsonObject): JsonValue {
  return schema["additionalProperties"] ?? schema["properties"] === undefined;
}

function listedIn({ properties, required, additionalProperties }: JsonObject): string[] {
  const names = Object.keys((properties ?? {}) as JsonObject);
  return additionalProperties === undefined ? [...names, ...namesIn(required)] : names;
}

function memberOf(schema: JsonObject, name: string): JsonValue {
  const properties = (schema["properties"] ?? {}) as JsonObject;
  if (Object.hasOwn(properties, name)) return properties[name]!;
  return listedIn(schema).includes(name) ? true : othersIn(schema);
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
