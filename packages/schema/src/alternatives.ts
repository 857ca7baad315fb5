import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps } from "@patchbay/kit";
import { followRef, takeSchema } from "./subschemas.ts";

/** Value types with their own keywords. Null and booleans are lists of values. */
export type Kind = "string" | "number" | "integer" | "array" | "object";

/** A subset that a schema accepts: a list of single values, or all values of a kind that satisfy the keywords in `schema`. */
export type Alternative =
  | { values: readonly Scalar[] }
  | {
      kind: Kind;
      schema: JsonObject;
      /** True for a reference's target, whose unlisted properties are dropped by another rule. */
      referred: boolean;
    };

/** A single value that a schema can list. */
export type Scalar = string | number | boolean | null;
/** An alternative with a type. */
export type Typed = Extract<Alternative, { kind: Kind }>;

const EVERY_TYPE = ["null", "boolean", "string", "number", "array", "object"];
const KINDS: ReadonlySet<string> = new Set<Kind>(["string", "number", "integer", "array", "object"]);

const isText = (value: JsonValue): boolean => typeof value === "string";
const isNumber = (value: JsonValue): boolean => Number.isFinite(value);
const isCount = (value: JsonValue): boolean => Number.isInteger(value) && (value as number) >= 0;
const isSchema = (value: JsonValue): boolean => isJsonObject(value) || typeof value === "boolean";
const isSchemaList = (value: JsonValue): boolean => Array.isArray(value) && value.every(isSchema);
const isNameList = (value: JsonValue): boolean => Array.isArray(value) && value.every(isText);
const isScalar = (value: JsonValue): boolean => typeof value !== "object" || value === null;

/** The keywords that can be compared, and the condition for their values. A schema with another keyword is compared as a whole. */
const COMPARED = new Map<string, (value: JsonValue) => boolean>([
  ["$defs", isJsonObject],
  ["definitions", isJsonObject],
  ["$ref", isText],
  ["anyOf", isSchemaList],
  ["oneOf", isSchemaList],
  ["type", (value) => isText(value) || isNameList(value)],
  ["enum", (value) => Array.isArray(value) && value.every(isScalar)],
  ["const", isScalar],
  ["format", isText],
  ["pattern", isText],
  ["contentEncoding", isText],
  ["contentMediaType", isText],
  ["minLength", isCount],
  ["maxLength", isCount],
  ["minimum", isNumber],
  ["maximum", isNumber],
  ["exclusiveMinimum", isNumber],
  ["exclusiveMaximum", isNumber],
  ["multipleOf", isNumber],
  ["items", isSchema],
  ["prefixItems", isSchemaList],
  ["minItems", isCount],
  ["maxItems", isCount],
  ["uniqueItems", (value) => typeof value === "boolean"],
  ["properties", (value) => isJsonObject(value) && Object.values(value).every(isSchema)],
  ["required", isNameList],
  ["additionalProperties", isSchema],
  ["propertyNames", isSchema],
  ["minProperties", isCount],
  ["maxProperties", isCount],
]);

/** If the type excludes objects, these do not affect validation, but a parser may still drop properties by them. */
const OF_OBJECTS = ["properties", "required", "additionalProperties"];
const DEFINITIONS = new Set(["$defs", "definitions"]);

/** More alternatives than people write. Comparing each pair would take too long. */
const ALTERNATIVES = 50;

/** A value that is put into a set, and a pair of alternatives. */
const STEPS_OF_VALUE = 5;
const STEPS_OF_PAIR = 10;

/** A schema's alternatives. */
export interface Alternatives {
  list: readonly Alternative[];
  /**
   * True if no value matches two objects or arrays in the list. Otherwise a property that one lists may pass through
   * another, so they cannot be compared one by one.
   */
  apart: boolean;
}

/** Splits schemas within `root` into alternatives. Undefined for a keyword that cannot be compared. */
export function alternativesIn(root: JsonObject, steps: Steps) {
  const known = new Map<JsonValue, Alternatives | undefined>();

  const expand = (
    schema: JsonValue,
    above: ReadonlySet<JsonValue>,
    referred: boolean,
  ): readonly Alternative[] | undefined => {
    takeSteps(steps);
    if (schema === false) return [];
    if (schema === true) return ownAlternatives({}, referred);
    // A schema that contains itself at the same place has no finite list.
    if (!isJsonObject(schema) || above.has(schema) || above.size > ALTERNATIVES) return undefined;
    takeSchema(steps, schema);
    if (!Object.entries(schema).every(([keyword, value]) => COMPARED.get(keyword)?.(value))) return undefined;

    const { $ref, anyOf, oneOf } = schema;
    if ([$ref, anyOf, oneOf].every((keyword) => keyword === undefined)) return ownAlternatives(schema, referred);
    if (Object.keys(schema).filter((keyword) => !DEFINITIONS.has(keyword)).length > 1) return undefined;
    const inner = new Set([...above, schema]);
    takeSteps(steps, inner.size);
    if (typeof $ref === "string") return expand(followRef(root, $ref) ?? null, inner, true);
    const branches = ((anyOf ?? oneOf) as JsonValue[]).map((branch) => expand(branch, inner, referred));
    if (!branches.every((branch) => branch !== undefined)) return undefined;
    const all = merged(branches.flat(), steps);
    if (all.length > ALTERNATIVES) return undefined;
    // `oneOf` refuses a value that two branches accept, so only disjoint branches can be compared one by one.
    return anyOf !== undefined || isEveryPair(branches, (a, b) => areDisjoint(a, b, steps)) ? all : undefined;
  };

  return (schema: JsonValue): Alternatives | undefined => {
    if (!known.has(schema)) {
      const found = expand(schema, new Set(), false);
      known.set(schema, found && { list: merged(found, steps), apart: areApart(found, steps) });
    }
    return known.get(schema);
  };
}

/** Joins the single-value lists into one. */
function merged(alternatives: readonly Alternative[], steps: Steps): Alternative[] {
  const values = alternatives.flatMap((alternative) => (isTyped(alternative) ? [] : alternative.values));
  takeSteps(steps, STEPS_OF_VALUE * values.length);
  return [...alternatives.filter(isTyped), { values: [...new Set(values)] }];
}

function ownAlternatives(schema: JsonObject, referred: boolean): Alternative[] | undefined {
  const { type = EVERY_TYPE, enum: listed, const: only } = schema;
  const types = [type].flat() as string[];
  if (!types.includes("object") && OF_OBJECTS.some((keyword) => schema[keyword] !== undefined)) return undefined;
  if (listed !== undefined || only !== undefined) {
    if (listed !== undefined && only !== undefined) return undefined;
    const values = listed === undefined ? [only as Scalar] : (listed as Scalar[]);
    const bounded = Object.keys(schema).some((keyword) => !["type", "enum", "const", ...DEFINITIONS].includes(keyword));
    return bounded ? undefined : [{ values: values.filter((value) => types.some((name) => isOfType(value, name))) }];
  }
  return types.map((name): Alternative => {
    if (name === "null") return { values: [null] };
    if (name === "boolean") return { values: [true, false] };
    return KINDS.has(name) ? { kind: name as Kind, schema, referred } : { values: [] };
  });
}

export function isOfType(value: Scalar, type: string): boolean {
  if (value === null) return type === "null";
  return type === typeof value || (type === "integer" && Number.isInteger(value));
}

export function isTyped(alternative: Alternative): alternative is Typed {
  return "kind" in alternative;
}

export function isComposite(alternative: Alternative): alternative is Typed {
  return isTyped(alternative) && (alternative.kind === "object" || alternative.kind === "array");
}

function areApart(alternatives: readonly Alternative[], steps: Steps): boolean {
  return isEveryPair(alternatives.filter(isComposite), (a, b) => excludes(a, b, steps));
}

function isEveryPair<T>(items: readonly T[], test: (a: T, b: T) => boolean): boolean {
  return items.every((a, i) => items.slice(i + 1).every((b) => test(a, b)));
}

/** True if no value matches an alternative in each list. */
export function areDisjoint(some: readonly Alternative[], others: readonly Alternative[], steps: Steps): boolean {
  return some.every((a) => others.every((b) => excludes(a, b, steps)));
}

/** True if no value matches both. */
export function excludes(a: Alternative, b: Alternative, steps: Steps): boolean {
  takeSteps(steps, STEPS_OF_PAIR);
  if (!isTyped(a)) return isTyped(b) ? excludes(b, a, steps) : haveNoneInCommon(a.values, b.values, steps);
  if (!isTyped(b)) {
    takeSteps(steps, b.values.length);
    return b.values.every((value) => !isOfType(value, a.kind));
  }
  const isNumeric = ({ kind }: Typed) => kind === "number" || kind === "integer";
  if (a.kind !== b.kind) return !(isNumeric(a) && isNumeric(b));
  return a.kind === "object" && !a.referred && !b.referred && differInRequired(a.schema, b.schema, steps);
}

/** True if a property that both require, such as `kind`, has different values in each. */
function differInRequired(a: JsonObject, b: JsonObject, steps: Steps): boolean {
  const [inA, inB] = [requiredValues(a, steps), requiredValues(b, steps)];
  return [...inA].some(([name, values]) => inB.has(name) && haveNoneInCommon(values, inB.get(name)!, steps));
}

function requiredValues(schema: JsonObject, steps: Steps): Map<string, readonly JsonValue[]> {
  const { properties, required } = schema;
  if (!isJsonObject(properties) || !Array.isArray(required)) return new Map();
  const names = Object.keys(properties);
  takeSteps(steps, STEPS_OF_VALUE * (names.length + required.length));
  const needed = new Set(required);
  return new Map(
    names.flatMap((name): [string, readonly JsonValue[]][] => {
      const member = needed.has(name) ? properties[name] : undefined;
      if (!isJsonObject(member)) return [];
      const values = member["const"] === undefined ? member["enum"] : [member["const"]];
      if (!Array.isArray(values)) return [];
      takeSteps(steps, STEPS_OF_VALUE * values.length);
      return values.every(isScalar) ? [[name, values]] : [];
    }),
  );
}

function haveNoneInCommon(some: readonly JsonValue[], others: readonly JsonValue[], steps: Steps): boolean {
  takeSteps(steps, STEPS_OF_VALUE * (some.length + others.length));
  const known = new Set(others);
  return some.every((value) => !known.has(value));
}
