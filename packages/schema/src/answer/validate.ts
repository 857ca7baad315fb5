import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps, TooManySteps } from "@patchbay/kit";
import {
  type Allowed,
  allowedBy,
  canonicalText,
  type Check,
  createCheck,
  entriesOf,
  matches,
  MOST_QUOTED,
  targetOf,
  typeOf,
} from "./lookups.ts";

/** References and choices can turn a few kilobytes of schema into any number of checks. */
const STEPS = 500_000;
const STEPS_OF_CHARACTER = 50;
/** Steps for one turn's values, about 50 ms. */
export const ANSWER_STEPS = 2_500_000;
/** The unit is a pattern step, which is cheap. */
const STEPS_OF_SCHEMA = 20;
const STEPS_OF_PROPERTY = 5;
const STEPS_OF_SEEN = 3;
const MOST_NESTED_CHECKS = 1_000;
const MOST_FAULTS = 20;

/** The value parts that schemas have evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
interface Seen {
  properties: Set<string>;
  /** Number of items from the start of the array. */
  items: number;
  /** Indexes of further items, which `contains` evaluated. */
  indexes: Set<number>;
}

/** One fault in a value: its path, and what is wrong there. */
type Fault = { path: string; message: string };

/**
 * The faults in `value` against a schema that `checkResponseSchema` accepts. Interprets the schema with a step budget
 * and compiles nothing, because the schema comes from a caller. A value that needs more steps is a fault. `steps`:
 * shared by all values that are checked together.
 */
export function validateAnswer(schema: JsonObject, value: JsonValue, steps: Steps = { left: ANSWER_STEPS }): Fault[] {
  const most = Math.min(steps.left, STEPS + STEPS_OF_CHARACTER * JSON.stringify(value).length);
  const check = createCheck(schema, most);
  const faults: Fault[] = [];
  try {
    apply(schema, value, [], faults, check);
  } catch (error) {
    if (error instanceof TooManySteps)
      faults.push({ path: "", message: `cannot be checked within ${most} steps. Write a shorter or simpler value.` });
    else if (error !== ENOUGH) throw error;
  }
  steps.left -= most - Math.max(0, check.steps.left);
  return faults;
}

/**
 * Returns a function that checks values against schemas within `root`, for schemas that `checkResponseSchema` has not
 * checked. It returns undefined if the check needs more than `steps`, or if a pattern is not supported. Caches long
 * keywords for all values.
 */
export function createMatcher(
  root: JsonObject,
): (schema: JsonValue, value: JsonValue, steps: { left: number }) => boolean | undefined {
  const lookups = createCheck(root, 0);
  return (schema, value, steps) => {
    try {
      return apply(schema, value, [], undefined, { ...lookups, steps }) !== undefined;
    } catch (error) {
      return error === ENOUGH ? false : undefined;
    }
  };
}

/** Thrown to stop when further faults would not change the result. Created once, because its stack would take longer than most checks. */
const ENOUGH = new Error("enough faults are found");

type At = readonly (string | number)[];
type Faults = Fault[] | undefined;

/**
 * Adds the faults in `value` at `at`. Returns the evaluated parts, or undefined if the value does not match. Without
 * `faults` it stops at the first fault and builds no path, because names in paths may be long.
 */
function apply(schema: JsonValue, value: JsonValue, at: At, faults: Faults, check: Check): Seen | undefined {
  takeSteps(check.steps, STEPS_OF_SCHEMA);
  if (check.depth >= MOST_NESTED_CHECKS) throw new TooManySteps();
  const before = faults?.length;
  const fault = (message: string, member?: string | number): void => {
    faults?.push({ path: (member === undefined ? at : [...at, member]).join("."), message });
    if (!faults || faults.length >= MOST_FAULTS) throw ENOUGH;
  };
  const seen: Seen = { properties: new Set(), items: 0, indexes: new Set() };
  if (schema === false) fault("is not allowed");
  if (!isJsonObject(schema)) return faults?.length === before ? seen : undefined;

  check.depth++;
  const visit: Visit = { schema, value, at, faults, check, fault, seen };
  checkType(visit);
  checkValues(visit);
  if (typeof value === "number") checkNumber(visit, value);
  else if (typeof value === "string") checkText(visit, value);
  checkCombined(visit);
  if (Array.isArray(value)) checkItems(visit, value);
  else if (isJsonObject(value)) checkProperties(visit, value);
  check.depth--;
  return faults?.length === before ? seen : undefined;
}

interface Visit {
  schema: JsonObject;
  value: JsonValue;
  at: At;
  faults: Faults;
  check: Check;
  fault(message: string, member?: string | number): void;
  seen: Seen;
}

/** The evaluated parts if `value` matches, without collecting faults. */
function tryApply(schema: JsonValue, value: JsonValue, check: Check): Seen | undefined {
  const { depth } = check;
  try {
    return apply(schema, value, [], undefined, check);
  } catch (error) {
    if (error !== ENOUGH) throw error;
    check.depth = depth;
    return undefined;
  }
}

function absorb({ seen, check }: Visit, other: Seen | undefined): void {
  if (!other) return;
  takeSteps(check.steps, STEPS_OF_SEEN * (other.properties.size + other.indexes.size));
  for (const name of other.properties) seen.properties.add(name);
  for (const index of other.indexes) seen.indexes.add(index);
  seen.items = Math.max(seen.items, other.items);
}

function checkType({ schema, value, fault }: Visit): void {
  const { type } = schema;
  if (type === undefined) return;
  const types = [type].flat() as string[];
  if (types.includes(typeOf(value)) || (types.includes("integer") && Number.isInteger(value))) return;
  fault(`must be ${types.join(" or ")}, but is ${typeOf(value)}`);
}

function checkValues({ schema, value, fault, check }: Visit): void {
  const { enum: values, const: only } = schema;
  if (values === undefined && only === undefined) return;
  const text = canonicalText(value, check);
  const requireOne = ({ texts, message }: Allowed): void => void (texts.has(text) || fault(message));
  if (Array.isArray(values)) requireOne(allowedBy(values, values, check));
  if (only !== undefined) requireOne(allowedBy(schema, [only], check));
}

function checkNumber({ schema, fault }: Visit, value: number): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) fault(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) fault(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) fault(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) fault(`must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf)) fault(`must be a multiple of ${multipleOf}`);
}

/** Allows for rounding: 0.3 is a multiple of 0.1, although their quotient is not a whole number. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  const whole = Math.round(quotient);
  return Number.isFinite(quotient) ? Math.abs(quotient - whole) <= Math.abs(quotient) * 1e-12 : value % of === 0;
}

function checkText({ schema, fault, check }: Visit, value: string): void {
  const { minLength, maxLength, pattern } = schema;
  if (typeof minLength === "number" || typeof maxLength === "number") {
    let length = 0;
    for (const _ of value) length++;
    takeSteps(check.steps, length / 4);
    requireSize(fault, length, [minLength, maxLength], "characters");
  }
  if (typeof pattern === "string" && !matches(pattern, value, check))
    fault(`must match the pattern ${pattern.slice(0, MOST_QUOTED)}`);
}

function requireSize(
  fault: Visit["fault"],
  size: number,
  [least, most]: readonly [JsonValue | undefined, JsonValue | undefined],
  what: string,
): void {
  if (typeof least === "number" && size < least) fault(`must have at least ${least} ${what}, but has ${size}`);
  if (typeof most === "number" && size > most) fault(`must have at most ${most} ${what}, but has ${size}`);
}

/** Keywords with schemas for the value itself. */
function checkCombined(visit: Visit): void {
  const { schema, value, at, faults, check, fault } = visit;
  const { $ref, allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = schema;
  const must = (other: JsonValue | undefined): void => {
    if (other !== undefined) absorb(visit, apply(other, value, at, faults, check));
  };
  if (typeof $ref === "string") must(targetOf($ref, check));
  if (Array.isArray(allOf)) for (const part of allOf) must(part);
  if (Array.isArray(anyOf)) checkAny(visit, anyOf);
  if (Array.isArray(oneOf)) checkExactlyOne(visit, oneOf);
  if (not !== undefined && tryApply(not, value, check)) fault("must not match the schema of not");
  if (condition !== undefined) {
    const held = tryApply(condition, value, check);
    absorb(visit, held);
    must(held ? then : otherwise);
  }
  if (isJsonObject(value))
    for (const [name, dependent] of entriesOf(dependentSchemas, check)) if (Object.hasOwn(value, name)) must(dependent);
}

function checkAny(visit: Visit, options: readonly JsonValue[]): void {
  const met = matching(visit, options);
  for (const option of met) absorb(visit, option);
  if (met.length === 0) explainNone(visit, options);
}

function checkExactlyOne(visit: Visit, options: readonly JsonValue[]): void {
  const met = matching(visit, options);
  if (met.length === 1) absorb(visit, met[0]);
  else if (met.length > 1) visit.fault(`must match exactly one schema of oneOf, but matches ${met.length}`);
  else explainNone(visit, options);
}

const matching = ({ value, check }: Visit, options: readonly JsonValue[]): Seen[] =>
  options.map((option) => tryApply(option, value, check)).filter((option) => option !== undefined);

/** Reports the faults for the only option with the value's type, else that no option matches. */
function explainNone({ value, at, faults, check, fault }: Visit, options: readonly JsonValue[]): void {
  const alike = options.filter((option) => {
    const { type } = isJsonObject(option) ? option : {};
    return type === undefined || [type].flat().includes(typeOf(value));
  });
  if (faults && alike.length === 1) apply(alike[0]!, value, at, faults, check);
  else fault(`matches none of the ${options.length} allowed schemas`);
}

function checkItems({ schema, at, faults, check, fault, seen }: Visit, value: readonly JsonValue[]): void {
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
    const indexes = value.flatMap((item, i) => (tryApply(contains, item, check) ? [i] : []));
    for (const index of indexes) seen.indexes.add(index);
    requireSize(fault, indexes.length, [minContains, maxContains], "items that match the schema of contains");
  }
  if (uniqueItems === true && new Set(value.map((item) => canonicalText(item, check))).size < value.length)
    fault("must not repeat an item");
  const { unevaluatedItems } = schema;
  if (unevaluatedItems === undefined) return;
  for (let i = seen.items; i < value.length; i++) if (!seen.indexes.has(i)) into(unevaluatedItems, i);
  seen.items = value.length;
}

function checkProperties({ schema, at, faults, check, fault, seen }: Visit, value: JsonObject): void {
  const { required, dependentRequired, properties, patternProperties, additionalProperties, propertyNames } = schema;
  const names = Object.keys(value);
  requireSize(fault, names.length, [schema["minProperties"], schema["maxProperties"]], "properties");
  const missing = (list: JsonValue | undefined): void => {
    if (!Array.isArray(list)) return;
    takeSteps(check.steps, list.length);
    for (const name of list as string[]) if (!Object.hasOwn(value, name)) fault("is required", name);
  };
  missing(required);
  for (const [name, list] of entriesOf(dependentRequired, check)) if (Object.hasOwn(value, name)) missing(list);

  const patterns = entriesOf(patternProperties, check);
  for (const name of names) {
    takeSteps(check.steps, STEPS_OF_PROPERTY + patterns.length);
    const into = (other: JsonValue, only = false): void => {
      if (other === false && only) fault("is not a property of the schema", name);
      else apply(other, value[name]!, [...at, name], faults, check);
    };
    const listed = isJsonObject(properties) && Object.hasOwn(properties, name) ? [properties[name]!] : [];
    const matched = patterns.filter(([pattern]) => matches(pattern, name, check)).map(([, other]) => other);
    const own = [...listed, ...matched];
    for (const other of own) into(other);
    if (own.length === 0 && additionalProperties !== undefined) into(additionalProperties, true);
    if (own.length > 0 || additionalProperties !== undefined) seen.properties.add(name);
    if (propertyNames !== undefined && !tryApply(propertyNames, name, check))
      fault("has a name that the schema does not allow", name);
    const { unevaluatedProperties } = schema;
    if (unevaluatedProperties === undefined || seen.properties.has(name)) continue;
    into(unevaluatedProperties, true);
    seen.properties.add(name);
  }
}
