import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import {
  alternativesIn,
  excludes,
  isComposite,
  isOfType,
  isTyped,
  type Alternative,
  type Scalar,
  type Typed,
} from "./schema-alternatives.ts";
import { ownDifferences, show } from "./schema-bounds.ts";
import { witnessSearch, type WitnessSearch } from "./schema-witness.ts";
import { withoutAnnotations } from "./subschemas.ts";

/** One place where a schema accepts more than the one before it, such as `items[].price`. The root has an empty path. */
export interface Wider {
  path: string;
  /** Such as `maximum 500 replaces 100`. */
  reason: string;
  /** A value at this place that the schema accepts and the one before it does not. Absent if none was found, which proves nothing. */
  witness?: JsonValue;
}

/**
 * How the values that a schema accepts differ from those of the schema before it. `wider` and `incomparable` are proved by a
 * witness, `equal` and `narrower` by structure. `unknown`: neither was possible.
 */
export type Verdict = "equal" | "narrower" | "wider" | "incomparable" | "unknown";

/** The comparison of two schemas. */
export interface SchemaChange {
  verdict: Verdict;
  /** Places where more is accepted, or where the comparison cannot decide. */
  wider: Wider[];
  /** The same in the other direction. */
  narrower: Wider[];
}

type Options = { results?: boolean; budget?: Budget };

/** Compares two schemas in both directions. The options are those of {@link widerPlaces}. */
export function compareSchemas(before: JsonObject, after: JsonObject, options: Options = {}): SchemaChange {
  const wider = widerPlaces(before, after, options);
  const narrower = widerPlaces(after, before, options);
  return { verdict: verdictOf(wider, narrower), wider, narrower };
}

function verdictOf(wider: readonly Wider[], narrower: readonly Wider[]): Verdict {
  if (wider.length === 0) return narrower.length === 0 ? "equal" : "narrower";
  const isProved = ({ witness }: Wider): boolean => witness !== undefined;
  if (!wider.some(isProved)) return "unknown";
  return narrower.some(isProved) ? "incomparable" : "wider";
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
  { results = false, budget = { steps: 200_000 } }: Options = {},
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
  readonly #witnesses: WitnessSearch;
  #depth = 0;

  constructor(roots: { before: JsonObject; after: JsonObject }, options: { results: boolean; budget: Budget }) {
    const { results, budget } = options;
    this.#results = results;
    this.#spend = (steps = 1) => (budget.steps -= steps) > 0;
    this.#before = alternativesIn(roots.before, this.#spend);
    this.#after = alternativesIn(roots.after, this.#spend);
    this.#witnesses = witnessSearch(roots, { results, spend: this.#spend });
  }

  compare(before: JsonValue, after: JsonValue, path: string): Wider[] {
    if (after === false || acceptsAnything(before) || isSame(before, after, this.#spend)) return [];
    const against = this.#open.get(after) ?? new Set();
    if (against.has(before)) return [];
    if (this.#depth === DEPTH) return [{ path, reason: INCOMPARABLE }];
    this.#open.set(after, against.add(before));
    this.#depth++;
    const found = this.#withWitness(this.#compareAlternatives(before, after, path), before, after, path);
    this.#depth--;
    against.delete(before);
    return found;
  }

  /** Adds a witness to the differences of this place itself. Those of inner places have one, if one was found. */
  #withWitness(found: Wider[], before: JsonValue, after: JsonValue, path: string): Wider[] {
    if (!found.some((one) => one.path === path)) return found;
    const scalarsOnly = found.some((one) => one.path === path && one.reason === INCOMPARABLE);
    const witness = this.#witnesses.find(before, after, { scalarsOnly });
    return witness === undefined ? found : found.map((one) => (one.path === path ? { ...one, witness } : one));
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
      const related = were.list.filter(isTyped).filter((was) => covers(was, one));
      const closest = related.filter((was) => !excludes(was, one));
      const comparable = closest.length > 0 ? closest : related;
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
      ...optional.flatMap((name) => {
        const at = join(path, name);
        return this.#withWitness([{ path: at, reason: "it is no longer required" }], before, after, at);
      }),
      ...[...names].flatMap((name): Wider[] => {
        const [was, is, at] = [propertyOf(before, name), propertyOf(after, name), join(path, name)];
        if (was === false && is !== false)
          return this.#withWitness([{ path: at, reason: "the property is new" }], was, is, at);
        return this.compare(was, is, at);
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
      this.compare(itemOf(before, i), itemOf(after, i), `${path}[${i}]`),
    );
    return [...places.flat(), ...this.compare(before["items"] ?? true, after["items"] ?? true, `${path}[]`)];
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
