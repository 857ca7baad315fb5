import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Fault } from "../response.ts";
import { type Allowed, allowedBy, type Check, createCheck, entriesOf, fits, MOST_TOLD, targetOf } from "./lookups.ts";
import { takeSteps, TooManySteps } from "./pattern.ts";

/** References and choices can multiply a few kilobytes of schema into any number of checks. The most take a second. */
const STEPS = 500_000;
const STEPS_OF_CHARACTER = 50;
const MOST_STEPS = 5_000_000;
/** Steps are measured in those of a pattern, which are cheap. */
const STEPS_OF_SCHEMA = 20;
const STEPS_OF_MEMBER = 5;
const STEPS_OF_SEEN = 3;
const MOST_NESTED_CHECKS = 1_000;
const MOST_FAULTS = 20;

/** What of a value its schemas have looked at, for `unevaluatedProperties` and `unevaluatedItems`. */
interface Seen {
  members: Set<string>;
  /** Items of the array, counted from its beginning. */
  items: number;
  /** Further items, which `contains` took. */
  places: Set<number>;
}

/**
 * Where `value` breaks a schema that `checkResponseSchema` takes; empty where it meets it. Nothing is generated or compiled from
 * the schema, which comes from a caller: it is walked, with a budget of steps. A value that needs more of them breaks the schema.
 */
export function validateAnswer(schema: JsonObject, value: JsonValue): Fault[] {
  const most = Math.min(MOST_STEPS, STEPS + STEPS_OF_CHARACTER * JSON.stringify(value).length);
  const check = createCheck(schema, most);
  const faults: Fault[] = [];
  try {
    apply(schema, value, [], faults, check);
  } catch (error) {
    if (error instanceof TooManySteps)
      faults.push({ path: "", message: `cannot be checked within ${most} steps. Write a shorter or simpler value.` });
    else if (error !== ENOUGH) throw error;
  }
  return faults;
}

/** Thrown when further faults change nothing. Made once, because a stack for each takes longer than most checks. */
const ENOUGH = new Error("enough faults are found");

type At = readonly (string | number)[];
type Faults = Fault[] | undefined;

/**
 * Adds the faults of `value` at `at`, and gives what was looked at; undefined where the value breaks the schema. Without `faults`
 * the first one ends it: paths are built from names of any length, and only for the faults that are kept.
 */
function apply(schema: JsonValue, value: JsonValue, at: At, faults: Faults, check: Check): Seen | undefined {
  takeSteps(check.steps, STEPS_OF_SCHEMA);
  if (check.depth >= MOST_NESTED_CHECKS) throw new TooManySteps();
  const before = faults?.length;
  const fault = (message: string, member?: string | number): void => {
    faults?.push({ path: (member === undefined ? at : [...at, member]).join("."), message });
    if (!faults || faults.length >= MOST_FAULTS) throw ENOUGH;
  };
  const seen: Seen = { members: new Set(), items: 0, places: new Set() };
  if (schema === false) fault("is not allowed");
  if (!isJsonObject(schema)) return faults?.length === before ? seen : undefined;

  check.depth++;
  const one: One = { schema, value, at, faults, check, fault, seen };
  checkType(one);
  checkValues(one);
  if (typeof value === "number") checkNumber(one, value);
  else if (typeof value === "string") checkText(one, value);
  checkCombined(one);
  if (Array.isArray(value)) checkItems(one, value);
  else if (isJsonObject(value)) checkMembers(one, value);
  check.depth--;
  return faults?.length === before ? seen : undefined;
}

interface One {
  schema: JsonObject;
  value: JsonValue;
  at: At;
  faults: Faults;
  check: Check;
  fault(message: string, member?: string | number): void;
  seen: Seen;
}

/** What was looked at where `value` meets a schema whose faults are not kept. */
function meets(schema: JsonValue, value: JsonValue, check: Check): Seen | undefined {
  const { depth } = check;
  try {
    return apply(schema, value, [], undefined, check);
  } catch (error) {
    if (error !== ENOUGH) throw error;
    check.depth = depth;
    return undefined;
  }
}

function absorb({ seen, check }: One, other: Seen | undefined): void {
  if (!other) return;
  takeSteps(check.steps, STEPS_OF_SEEN * (other.members.size + other.places.size));
  for (const name of other.members) seen.members.add(name);
  for (const place of other.places) seen.places.add(place);
  seen.items = Math.max(seen.items, other.items);
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function checkType({ schema, value, fault }: One): void {
  const { type } = schema;
  if (type === undefined) return;
  const types = [type].flat() as string[];
  if (types.includes(typeOf(value)) || (types.includes("integer") && Number.isInteger(value))) return;
  fault(`must be ${types.join(" or ")}, but is ${typeOf(value)}`);
}

function checkValues({ schema, value, fault, check }: One): void {
  const { enum: values, const: only } = schema;
  if (values === undefined && only === undefined) return;
  const text = sized(canonicalJson(value), check);
  const requireOne = ({ texts, message }: Allowed): void => void (texts.has(text) || fault(message));
  if (Array.isArray(values)) requireOne(allowedBy(values, values, check));
  if (only !== undefined) requireOne(allowedBy(schema, [only], check));
}

/** Counts what it took to write a text. */
function sized(text: string, { steps }: Check): string {
  takeSteps(steps, 1 + text.length);
  return text;
}

function checkNumber({ schema, fault }: One, value: number): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) fault(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) fault(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) fault(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) fault(`must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf)) fault(`must be a multiple of ${multipleOf}`);
}

/** 0.3 is a multiple of 0.1, though their quotient as stored is not whole. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  const whole = Math.round(quotient);
  return Number.isFinite(quotient) ? Math.abs(quotient - whole) <= Math.abs(quotient) * 1e-12 : value % of === 0;
}

function checkText({ schema, fault, check }: One, value: string): void {
  const { minLength, maxLength, pattern } = schema;
  if (typeof minLength === "number" || typeof maxLength === "number") {
    let length = 0;
    for (const _ of value) length++;
    takeSteps(check.steps, length / 4);
    requireSize(fault, length, [minLength, maxLength], "characters");
  }
  if (typeof pattern === "string" && !fits(pattern, value, check))
    fault(`must match the pattern ${pattern.slice(0, MOST_TOLD)}`);
}

function requireSize(
  fault: One["fault"],
  size: number,
  [least, most]: readonly [JsonValue | undefined, JsonValue | undefined],
  what: string,
): void {
  if (typeof least === "number" && size < least) fault(`must have at least ${least} ${what}, but has ${size}`);
  if (typeof most === "number" && size > most) fault(`must have at most ${most} ${what}, but has ${size}`);
}

/** Keywords whose schemas are about the value itself. */
function checkCombined(one: One): void {
  const { schema, value, at, faults, check, fault } = one;
  const { $ref, allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = schema;
  const must = (other: JsonValue | undefined): void => {
    if (other !== undefined) absorb(one, apply(other, value, at, faults, check));
  };
  if (typeof $ref === "string") must(targetOf($ref, check));
  if (Array.isArray(allOf)) for (const part of allOf) must(part);
  if (Array.isArray(anyOf)) checkAny(one, anyOf);
  if (Array.isArray(oneOf)) {
    const met = oneOf.map((option) => meets(option, value, check)).filter((option) => option !== undefined);
    if (met.length === 1) absorb(one, met[0]);
    else if (met.length > 1) fault(`must meet exactly one schema of oneOf, but meets ${met.length}`);
    else explainNone(one, oneOf);
  }
  if (not !== undefined && meets(not, value, check)) fault("must not meet the schema of not");
  if (condition !== undefined) {
    const held = meets(condition, value, check);
    absorb(one, held);
    must(held ? then : otherwise);
  }
  if (isJsonObject(value))
    for (const [name, dependent] of entriesOf(dependentSchemas, check)) if (Object.hasOwn(value, name)) must(dependent);
}

function checkAny(one: One, options: readonly JsonValue[]): void {
  const met = options.map((option) => meets(option, one.value, one.check)).filter((option) => option !== undefined);
  for (const option of met) absorb(one, option);
  if (met.length === 0) explainNone(one, options);
}

/** A value that meets no option is told the faults of the one option of its type. */
function explainNone({ value, at, faults, check, fault }: One, options: readonly JsonValue[]): void {
  const alike = options.filter((option) => {
    const { type } = isJsonObject(option) ? option : {};
    return type === undefined || [type].flat().includes(typeOf(value));
  });
  if (faults && alike.length === 1) apply(alike[0]!, value, at, faults, check);
  else fault(`meets none of the ${options.length} schemas that are allowed here`);
}

function checkItems({ schema, at, faults, check, fault, seen }: One, value: readonly JsonValue[]): void {
  const { prefixItems, items, contains, minContains = 1, maxContains, uniqueItems, minItems, maxItems } = schema;
  requireSize(fault, value.length, [minItems, maxItems], "items");
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const into = (other: JsonValue, i: number) => apply(other, value[i]!, [...at, i], faults, check);
  for (let i = 0; i < Math.min(first.length, value.length); i++) into(first[i]!, i);
  seen.items = Math.max(seen.items, Math.min(first.length, value.length));
  if (items !== undefined) {
    for (let i = first.length; i < value.length; i++) into(items, i);
    seen.items = value.length;
  }
  if (contains !== undefined) {
    const places = value.flatMap((item, i) => (meets(contains, item, check) ? [i] : []));
    for (const place of places) seen.places.add(place);
    requireSize(fault, places.length, [minContains, maxContains], "items that meet the schema of contains");
  }
  if (uniqueItems === true && new Set(value.map((item) => sized(canonicalJson(item), check))).size < value.length)
    fault("must not repeat an item");
  const { unevaluatedItems } = schema;
  if (unevaluatedItems === undefined) return;
  for (let i = seen.items; i < value.length; i++) if (!seen.places.has(i)) into(unevaluatedItems, i);
  seen.items = value.length;
}

function checkMembers({ schema, at, faults, check, fault, seen }: One, value: JsonObject): void {
  const { required, dependentRequired, properties, patternProperties, additionalProperties, propertyNames } = schema;
  const names = Object.keys(value);
  requireSize(fault, names.length, [schema["minProperties"], schema["maxProperties"]], "members");
  const missing = (list: JsonValue | undefined): void => {
    if (!Array.isArray(list)) return;
    takeSteps(check.steps, list.length);
    for (const name of list as string[]) if (!Object.hasOwn(value, name)) fault("is required", name);
  };
  missing(required);
  for (const [name, list] of entriesOf(dependentRequired, check)) if (Object.hasOwn(value, name)) missing(list);

  const patterns = entriesOf(patternProperties, check);
  for (const name of names) {
    takeSteps(check.steps, STEPS_OF_MEMBER + patterns.length);
    const into = (other: JsonValue, only = false): void => {
      if (other === false && only) fault("is not a member of the schema", name);
      else apply(other, value[name]!, [...at, name], faults, check);
    };
    const listed = isJsonObject(properties) && Object.hasOwn(properties, name) ? [properties[name]!] : [];
    const matched = patterns.filter(([pattern]) => fits(pattern, name, check)).map(([, other]) => other);
    const own = [...listed, ...matched];
    for (const other of own) into(other);
    if (own.length === 0 && additionalProperties !== undefined) into(additionalProperties, true);
    if (own.length > 0 || additionalProperties !== undefined) seen.members.add(name);
    if (propertyNames !== undefined && !meets(propertyNames, name, check))
      fault("is a name that the schema does not allow", name);
    const { unevaluatedProperties } = schema;
    if (unevaluatedProperties === undefined || seen.members.has(name)) continue;
    into(unevaluatedProperties, true);
    seen.members.add(name);
  }
}
