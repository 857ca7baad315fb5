import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Fault } from "../response.ts";
import { followRef } from "../subschemas.ts";
import { compilePattern, type Pattern, type Steps, takeSteps, TooManySteps } from "./pattern.ts";

/** References and choices can multiply a few kilobytes of schema into any number of checks. The most take a second. */
const STEPS = 500_000;
const STEPS_OF_CHARACTER = 50;
const MOST_STEPS = 5_000_000;
/** Steps are measured in those of a pattern, which are cheap. */
const STEPS_OF_SCHEMA = 20;
const MOST_NESTED_CHECKS = 1_000;
const MOST_FAULTS = 20;
/** Characters of a schema in one fault. */
const MOST_TOLD = 500;

/** What of a value its schemas have looked at, for `unevaluatedProperties` and `unevaluatedItems`. */
interface Seen {
  members: Set<string>;
  /** Items of the array, counted from its beginning. */
  items: number;
  /** Further items, which `contains` took. */
  places: Set<number>;
}

interface Check {
  root: JsonObject;
  steps: Steps;
  patterns: Map<string, Pattern>;
  /** The values of each `enum` and `const`. */
  allowed: Map<object, { texts: Set<string>; message: string }>;
  depth: number;
}

/**
 * Where `value` breaks a schema that `checkResponseSchema` takes; empty where it meets it. Nothing is generated or compiled from
 * the schema, which comes from a caller: it is walked, with a budget of steps. A value that needs more of them breaks the schema.
 */
export function validateAnswer(schema: JsonObject, value: JsonValue): Fault[] {
  const most = Math.min(MOST_STEPS, STEPS + STEPS_OF_CHARACTER * JSON.stringify(value).length);
  const check: Check = { root: schema, steps: { left: most }, patterns: new Map(), allowed: new Map(), depth: 0 };
  const faults: Fault[] = [];
  try {
    apply(schema, value, [], faults, check);
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
    const message = `cannot be checked within ${most} steps. Write a shorter or simpler value.`;
    return [...faults.slice(0, MOST_FAULTS - 1), { path: "", message }];
  }
  return faults.slice(0, MOST_FAULTS);
}

type At = readonly (string | number)[];

/** Adds the faults of `value` at `at`, and gives what was looked at; undefined where the value breaks the schema. */
function apply(schema: JsonValue, value: JsonValue, at: At, faults: Fault[], check: Check): Seen | undefined {
  takeSteps(check.steps, STEPS_OF_SCHEMA);
  if (check.depth >= MOST_NESTED_CHECKS) throw new TooManySteps();
  const before = faults.length;
  const fault = (message: string, member?: string | number): void => {
    takeSteps(check.steps, STEPS_OF_SCHEMA);
    faults.push({ path: (member === undefined ? at : [...at, member]).join("."), message });
  };
  const seen: Seen = { members: new Set(), items: 0, places: new Set() };
  if (schema === false) fault("is not allowed");
  if (!isJsonObject(schema)) return faults.length === before ? seen : undefined;

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
  return faults.length === before ? seen : undefined;
}

interface One {
  schema: JsonObject;
  value: JsonValue;
  at: At;
  faults: Fault[];
  check: Check;
  fault(message: string, member?: string | number): void;
  seen: Seen;
}

/** Whether `value` meets a schema whose faults are not told. */
const meets = (schema: JsonValue, value: JsonValue, { at, check }: One): Seen | undefined =>
  apply(schema, value, at, [], check);

function absorb(seen: Seen, other: Seen | undefined): void {
  if (!other) return;
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
  if (Array.isArray(values)) requireOne(values, values, text);
  if (only !== undefined) requireOne(schema, [only], text);

  /** A list may be long, and be asked for each item of a value. */
  function requireOne(key: object, list: readonly JsonValue[], text: string): void {
    let known = check.allowed.get(key);
    if (!known) {
      const told = list.map((one) => JSON.stringify(one)).join(", ");
      const message = `must be ${list.length === 1 ? "" : "one of "}${told.slice(0, MOST_TOLD)}`;
      check.allowed.set(key, (known = { texts: new Set(list.map(canonicalJson)), message }));
    }
    if (!known.texts.has(text)) fault(known.message);
  }
}

/** Counts what it took to write a text. */
function sized(text: string, { steps }: Check): string {
  takeSteps(steps, text.length / 8);
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
    takeSteps(check.steps, length / 16);
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

function fits(pattern: string, text: string, { patterns, steps }: Check): boolean {
  let compiled = patterns.get(pattern);
  if (!compiled) patterns.set(pattern, (compiled = compilePattern(pattern)));
  return compiled.test(text, steps);
}

/** Keywords whose schemas are about the value itself. */
function checkCombined(one: One): void {
  const { schema, value, at, faults, check, fault, seen } = one;
  const { $ref, allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = schema;
  const must = (other: JsonValue | undefined): void => {
    if (other !== undefined) absorb(seen, apply(other, value, at, faults, check));
  };
  if (typeof $ref === "string") must(followRef(check.root, $ref));
  if (Array.isArray(allOf)) for (const part of allOf) must(part);
  if (Array.isArray(anyOf)) checkAny(one, anyOf);
  if (Array.isArray(oneOf)) {
    const met = oneOf.map((option) => meets(option, value, one)).filter((option) => option !== undefined);
    if (met.length === 1) absorb(seen, met[0]);
    else if (met.length > 1) fault(`must meet exactly one schema of oneOf, but meets ${met.length}`);
    else explainNone(one, oneOf);
  }
  if (not !== undefined && meets(not, value, one)) fault("must not meet the schema of not");
  if (condition !== undefined) {
    const held = meets(condition, value, one);
    absorb(seen, held);
    must(held ? then : otherwise);
  }
  if (isJsonObject(dependentSchemas) && isJsonObject(value))
    for (const [name, dependent] of Object.entries(dependentSchemas)) if (Object.hasOwn(value, name)) must(dependent);
}

function checkAny(one: One, options: readonly JsonValue[]): void {
  const met = options.map((option) => meets(option, one.value, one)).filter((option) => option !== undefined);
  for (const option of met) absorb(one.seen, option);
  if (met.length === 0) explainNone(one, options);
}

/** A value that meets no option is told the faults of the one option of its type. */
function explainNone({ value, at, faults, check, fault }: One, options: readonly JsonValue[]): void {
  const alike = options.filter((option) => {
    const { type } = isJsonObject(option) ? option : {};
    return type === undefined || [type].flat().includes(typeOf(value));
  });
  if (alike.length === 1) apply(alike[0]!, value, at, faults, check);
  else fault(`meets none of the ${options.length} schemas that are allowed here`);
}

function checkItems({ schema, at, faults, check, fault, seen, ...rest }: One, value: readonly JsonValue[]): void {
  const { prefixItems, items, contains, minContains = 1, maxContains, uniqueItems, minItems, maxItems } = schema;
  const one: One = { schema, at, faults, check, fault, seen, ...rest };
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
    const places = value.flatMap((item, i) => (meets(contains, item, one) ? [i] : []));
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
    for (const name of list as string[]) if (!Object.hasOwn(value, name)) fault("is required", name);
  };
  missing(required);
  if (isJsonObject(dependentRequired))
    for (const [name, list] of Object.entries(dependentRequired)) if (Object.hasOwn(value, name)) missing(list);

  const patterns = Object.entries(isJsonObject(patternProperties) ? patternProperties : {});
  for (const name of names) {
    takeSteps(check.steps, 1 + patterns.length);
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
    if (propertyNames !== undefined && !apply(propertyNames, name, [], [], check))
      fault("is a name that the schema does not allow", name);
    const { unevaluatedProperties } = schema;
    if (unevaluatedProperties === undefined || seen.members.has(name)) continue;
    into(unevaluatedProperties, true);
    seen.members.add(name);
  }
}
