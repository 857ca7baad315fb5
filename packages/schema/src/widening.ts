import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps, within } from "@patchbay/kit";
import {
  alternativesIn,
  excludes,
  isComposite,
  isOfType,
  isTyped,
  type Alternative,
  type Scalar,
  type Typed,
} from "./alternatives.ts";
import { ownDifferences, show } from "./bounds.ts";
import { type Found, witnessSearch } from "./witness.ts";
import { isSame, takeSchema, withoutAnnotations } from "./subschemas.ts";

/** One place where a schema accepts more than its predecessor, such as `items[].price`. The root has an empty path. */
export interface Wider {
  path: string;
  /** Such as `maximum 500 replaces 100`. */
  reason: string;
  /** A value here that only the newer schema accepts. Absent if none was found, which proves nothing. */
  witness?: JsonValue;
}

/**
 * How the accepted values differ from the previous schema's. `wider` and `incomparable` are proved by a witness,
 * `equal` and `narrower` by structure. `unknown`: neither was possible.
 */
export type Verdict = "equal" | "narrower" | "wider" | "incomparable" | "unknown";

/** A comparison between two schemas. */
export interface SchemaChange {
  verdict: Verdict;
  /** Places where more is accepted, or where the comparison cannot decide. */
  wider: Wider[];
  /** The same in the other direction. */
  narrower: Wider[];
}

/** Steps for a whole comparison between two function sets, about 50 ms. */
export const COMPARISON_STEPS = 2_500_000;

/** Why a place counts as wider, if the comparison had no steps left for it. */
export const TOO_MANY_STEPS =
  "the comparison needs too many steps, so this counts as wider; use fewer unions, references and patterns (`patchbay access` may take 100 times as many steps as the control plane)";

/**
 * `results`: a property that becomes optional is not a difference, because a result without it shows less.
 * `steps`: shared by all comparisons that belong together, {@link COMPARISON_STEPS} by default. One comparison uses at
 * most a quarter, so that the others have some left.
 */
type Options = { results?: boolean; steps?: Steps };

const EQUAL: SchemaChange = { verdict: "equal", wider: [], narrower: [] };

/**
 * Compares two schemas in both directions: the places where `after` accepts values that `before` does not, and the reverse. An
 * object that lists properties and does not mention others accepts only these (`withOpenObjects` makes it accept all). A
 * difference that cannot be compared counts as wider, and so does a comparison that needs too many steps, unless the schemas are
 * the same.
 */
export function compareSchemas(
  before: JsonObject,
  after: JsonObject,
  { results = false, steps = { left: COMPARISON_STEPS } }: Options = {},
): SchemaChange {
  if (isSame(before, after, { whole: true })) return EQUAL;
  const compare = (own: Steps): SchemaChange => {
    const [was, is] = [withoutAnnotations(before, own), withoutAnnotations(after, own)];
    if (isSame(was, is, { whole: true, steps: own })) return EQUAL;
    const comparisons = [new Comparison(was, is, results, own), new Comparison(is, was, results, own)];
    comparisons.forEach((comparison) => comparison.compare());
    const [wider, narrower] = comparisons.map((comparison) => comparison.proved()) as [Wider[], Wider[]];
    return { verdict: verdictOf(wider, narrower), wider, narrower };
  };
  return within(steps, steps.left / 4, compare, () => {
    return { verdict: "unknown", wider: [{ path: "", reason: TOO_MANY_STEPS }], narrower: [] };
  });
}

/** The places in {@link compareSchemas} where `after` is wider. */
export const widerPlaces = (before: JsonObject, after: JsonObject, options?: Options): Wider[] =>
  compareSchemas(before, after, options).wider;

function verdictOf(wider: readonly Wider[], narrower: readonly Wider[]): Verdict {
  if (wider.length === 0) return narrower.length === 0 ? "equal" : "narrower";
  const isProved = ({ witness }: Wider): boolean => witness !== undefined;
  if (!wider.some(isProved)) return "unknown";
  return narrower.some(isProved) ? "incomparable" : "wider";
}

/** The schemas at one place. */
interface Pair {
  before: JsonValue;
  after: JsonValue;
}

interface At extends Pair {
  path: string;
}

interface Difference {
  pair: Pair;
  path: string;
  reason: string;
}

/** One comparison direction. */
class Comparison {
  readonly #roots: readonly [JsonObject, JsonObject];
  readonly #results: boolean;
  readonly #steps: Steps;
  readonly #before: ReturnType<typeof alternativesIn>;
  readonly #after: ReturnType<typeof alternativesIn>;
  /** Pairs between the root and the current place. A recursive pair is compared once: if the outer one holds, so do inner ones. */
  readonly #open = new Map<JsonValue, Set<JsonValue>>();
  readonly #witnesses: ReturnType<typeof witnessSearch>;
  #found: readonly Difference[] = [];
  #depth = 0;

  constructor(before: JsonObject, after: JsonObject, results: boolean, steps: Steps) {
    this.#roots = [before, after];
    this.#results = results;
    this.#steps = steps;
    this.#before = alternativesIn(before, steps);
    this.#after = alternativesIn(after, steps);
    this.#witnesses = witnessSearch({ before, after }, { results, steps });
  }

  /** Finds the differences. Throws `TooManySteps`. */
  compare(): void {
    this.#found = this.#compare(...this.#roots, "");
  }

  /** The differences, each with a witness if the search finds one. The search never uses all steps. */
  proved(): Wider[] {
    const found = new Map<Pair, Found>();
    return this.#found.map(({ pair, path, reason }) => {
      const scalarsOnly = reason === INCOMPARABLE;
      if (!found.has(pair)) found.set(pair, this.#witnesses.find(pair.before, pair.after, { scalarsOnly }));
      const { witness, isComplete } = found.get(pair)!;
      if (witness !== undefined) return { path, reason, witness };
      return { path, reason: isComplete || scalarsOnly ? reason : `${reason}; ${TOO_MANY_STEPS}` };
    });
  }

  #compare(before: JsonValue, after: JsonValue, path: string): Difference[] {
    this.#takePath(path);
    if (after === false || acceptsAnything(before) || isSame(before, after, { steps: this.#steps })) return [];
    const against = this.#open.get(after) ?? new Set();
    if (against.has(before)) return [];
    const at = { before, after, path };
    if (this.#depth === DEPTH) return differs(at, INCOMPARABLE);
    this.#open.set(after, against.add(before));
    this.#depth++;
    const found = this.#compareAlternatives(at);
    this.#depth--;
    against.delete(before);
    return found;
  }

  #compareAlternatives(at: At): Difference[] {
    const [were, are] = [this.#before(at.before), this.#after(at.after)];
    if (!were || !are) return differs(at, INCOMPARABLE);
    const apart = were.apart && are.apart;
    if (!apart && !isSame(compositesOf(were.list), compositesOf(are.list), { steps: this.#steps }))
      return differs(at, INCOMPARABLE);
    return are.list.flatMap((alternative): Difference[] => {
      if (!isTyped(alternative)) return differs(at, ...this.#newValues(were.list, alternative.values));
      if (!apart && isComposite(alternative)) return [];
      const related = were.list.filter(isTyped).filter((was) => covers(was, alternative));
      const closest = related.filter((was) => !excludes(was, alternative, this.#steps));
      const comparable = closest.length > 0 ? closest : related;
      const differences = comparable.map((was) => this.#compareTyped(was, alternative, at));
      if (differences.some(({ length }) => length === 0)) return [];
      if (differences.length === 1) return differences[0]!;
      return differs(at, differences.length === 0 ? `type ${alternative.kind} is new` : "an alternative is new");
    });
  }

  #compareTyped(was: Typed, is: Typed, at: At): Difference[] {
    takeSchema(this.#steps, was.schema);
    takeSchema(this.#steps, is.schema);
    const own = differs(at, ...ownDifferences(was, is));
    if (is.kind === "object") return [...own, ...this.#compareObjects(was.schema, is.schema, at)];
    return is.kind === "array" ? [...own, ...this.#compareItems(was.schema, is.schema, at.path)] : own;
  }

  #compareObjects(before: JsonObject, after: JsonObject, at: At): Difference[] {
    const { path } = at;
    const still = new Set(namesIn(after["required"]));
    const optional = this.#results ? [] : namesIn(before["required"]).filter((name) => !still.has(name));
    const [was, is, pair] = [propertiesOf(before), propertiesOf(after), { before, after }];
    const more = was.unlisted === false && is.unlisted !== false;
    return [
      ...optional.map((name) => {
        this.#takePath(path);
        return { pair, path: join(path, name), reason: "it is optional now" };
      }),
      ...[...new Set([...was.listed, ...is.listed])].flatMap((name): Difference[] => {
        const member = { before: was.of(name), after: is.of(name), path: join(path, name) };
        this.#takePath(member.path);
        if (member.before === false && member.after !== false) return differs(member, "the property is new");
        return this.#compare(member.before, member.after, member.path);
      }),
      ...(more
        ? differs(at, "properties that the schema does not list are new")
        : this.#compare(was.unlisted, is.unlisted, join(path, "*"))),
      ...this.#compare(namesOf(before), namesOf(after), join(path, "*")),
    ];
  }

  #compareItems(before: JsonObject, after: JsonObject, path: string): Difference[] {
    const length = Math.max(tupleOf(before).length, tupleOf(after).length);
    const items = Array.from({ length }, (_, i) => this.#compare(itemOf(before, i), itemOf(after, i), `${path}[${i}]`));
    return [...items.flat(), ...this.#compare(before["items"] ?? true, after["items"] ?? true, `${path}[]`)];
  }

  /** Paths get as long as the names in a schema. */
  #takePath(path: string): void {
    takeSteps(this.#steps, STEPS_OF_PATH + path.length / CHARACTERS_OF_STEP);
  }

  #newValues(before: readonly Alternative[], values: readonly Scalar[]): string[] {
    const known = new Set(before.flatMap((alternative) => (isTyped(alternative) ? [] : alternative.values)));
    const typed = before.filter(isTyped);
    takeSteps(this.#steps, STEPS_OF_VALUE * (known.size + values.length));
    const fresh = values.filter((value) => {
      if (known.has(value)) return false;
      takeSteps(this.#steps, typed.length * (STEPS_OF_ALTERNATIVE + String(value).length));
      return !typed.some((alternative) => accepts(alternative, value));
    });
    return fresh.length === 0 ? [] : [`${fresh.map(show).join(", ")} is new`];
  }
}

const differs = (at: At, ...reasons: string[]): Difference[] =>
  reasons.map((reason) => ({ pair: at, path: at.path, reason }));

const STEPS_OF_PATH = 20;
const CHARACTERS_OF_STEP = 8;
const STEPS_OF_VALUE = 5;
/** Comparing a value with an alternative's bounds. */
const STEPS_OF_ALTERNATIVE = 50;

/** References can nest deeper than any written schema. */
const DEPTH = 100;
const INCOMPARABLE = "it changed in a way that cannot be compared, so it counts as wider";
const TEXT: JsonObject = { type: "string" };

const join = (path: string, step: string): string => (path === "" ? step : `${path}.${step}`);
const namesIn = (required: JsonValue | undefined): string[] => (Array.isArray(required) ? (required as string[]) : []);
const acceptsAnything = (schema: JsonValue): boolean =>
  schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);

function compositesOf(alternatives: readonly Alternative[]): JsonObject[] {
  return alternatives.filter(isComposite).map((alternative) => ({ [alternative.kind]: alternative.schema }));
}

function covers(was: Typed, is: Typed): boolean {
  return was.kind === is.kind || (was.kind === "number" && is.kind === "integer");
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

/** An object schema's properties. `unlisted`: the schema for others, false if they are refused or dropped. */
function propertiesOf({ properties, required, additionalProperties }: JsonObject) {
  const members = (properties ?? {}) as JsonObject;
  const names = additionalProperties === undefined ? namesIn(required) : [];
  const listed = new Set([...Object.keys(members), ...names]);
  const unlisted = additionalProperties ?? properties === undefined;
  return {
    listed,
    unlisted,
    of: (name: string): JsonValue =>
      Object.hasOwn(members, name) ? members[name]! : listed.has(name) ? true : unlisted,
  };
}

function tupleOf({ prefixItems }: JsonObject): JsonValue[] {
  return (prefixItems ?? []) as JsonValue[];
}

function itemOf(schema: JsonObject, index: number): JsonValue {
  return tupleOf(schema)[index] ?? schema["items"] ?? true;
}
