import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { followRef } from "../subschemas.ts";
import { compilePattern, MOST_PARTS } from "./pattern.ts";

const MOST_BYTES = 65_536;
const MOST_DEPTH = 10;
const MOST_MEMBERS = 200;
const MOST_NAME_CHARS = 64;
/** Levels of JSON, which are more than those of the values: `properties`, `anyOf` and others add their own. */
const MOST_NESTING = 64;
const MOST_FAULTS = 20;

/** What a keyword's value must be, and how a fault says so. */
type Form = readonly [takes: (value: JsonValue) => boolean, message: string];

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
const isName = (value: JsonValue) => typeof value === "string" && TYPES.includes(value);
const isDistinct = (values: readonly JsonValue[]) => new Set(values).size === values.length;
const isTexts = (value: JsonValue) =>
  Array.isArray(value) && value.every((one) => typeof one === "string") && isDistinct(value);

const NUMBER: Form = [(value) => typeof value === "number", "must be a number"];
const COUNT: Form = [(value) => Number.isInteger(value) && (value as number) >= 0, "must be an integer of 0 or more"];
const TEXT: Form = [(value) => typeof value === "string", "must be a string"];
const FLAG: Form = [(value) => typeof value === "boolean", "must be a boolean"];
const LIST: Form = [Array.isArray, "must be an array"];
const NAMES: Form = [isTexts, "must be an array of different strings"];
const LISTS_OF_NAMES: Form = [
  (value) => isJsonObject(value) && Object.values(value).every(isTexts),
  "must be an object whose members are arrays of different strings",
];

/** Keywords of 2020-12 that hold no schema. */
const FORMS = new Map<string, Form>([
  [
    "type",
    [
      (value) =>
        isName(value) || (Array.isArray(value) && value.length > 0 && value.every(isName) && isDistinct(value)),
      `must be one or more of ${TYPES.join(", ")}`,
    ],
  ],
  ["multipleOf", [(value) => typeof value === "number" && value > 0, "must be a number above 0"]],
  ...["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"].map((name) => [name, NUMBER] as const),
  ...["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"].map(
    (name) => [name, COUNT] as const,
  ),
  ...["maxContains", "minContains"].map((name) => [name, COUNT] as const),
  ...["$id", "$schema", "$anchor", "$comment", "title", "description", "format", "pattern"].map(
    (name) => [name, TEXT] as const,
  ),
  ...["uniqueItems", "deprecated", "readOnly", "writeOnly"].map((name) => [name, FLAG] as const),
  ...["enum", "examples"].map((name) => [name, LIST] as const),
  ["required", NAMES],
  ["dependentRequired", LISTS_OF_NAMES],
]);

/** Keywords that hold one schema, a list of schemas, or schemas by name; true where they are about the same value. */
const ONE = new Map([
  ...["not", "if", "then", "else"].map((name) => [name, true] as const),
  ...["additionalProperties", "contains", "items", "propertyNames", "unevaluatedItems", "unevaluatedProperties"].map(
    (name) => [name, false] as const,
  ),
]);
const SEVERAL = new Map([...["allOf", "anyOf", "oneOf"].map((name) => [name, true] as const), ["prefixItems", false]]);
const NAMED = new Map([
  ...["$defs", "definitions", "patternProperties", "properties"].map((name) => [name, false] as const),
  ["dependentSchemas", true],
]);

type Path = readonly string[];

/**
 * What is wrong with the JSON Schema of an answer; empty where nothing is. Beyond JSON Schema 2020-12 it has the limits of model
 * providers, and those that keep a check of any value bounded. Unknown keywords are ignored.
 */
export function checkResponseSchema(root: unknown): { path: Path; message: string }[] {
  if (!isJsonObject(root)) return [{ path: [], message: "must be a JSON object" }];
  const sizeBytes = new TextEncoder().encode(JSON.stringify(root)).byteLength;
  if (sizeBytes > MOST_BYTES)
    return [{ path: [], message: `has ${sizeBytes} bytes, which exceed the limit of ${MOST_BYTES}. Describe less.` }];
  const faults: { path: Path; message: string }[] = [];
  const fault = (path: Path, message: string): void =>
    void (faults.length < MOST_FAULTS && faults.push({ path, message }));

  for (const keyword of ["anyOf", "oneOf", "allOf"])
    if (keyword in root)
      fault([keyword], "is not taken at the root, because models do not take it there. Put it inside a member.");
  if (root["type"] !== "object") fault(["type"], `must be "object": an answer is one object with members`);

  const schemas = new Map<JsonObject, Path>();
  const refs: { path: Path; ref: JsonValue }[] = [];
  // One pattern may take all of it: together they are kept while a value is checked.
  const room = { parts: MOST_PARTS };
  let members = 0;
  const tooMany = (path: Path): void => {
    if (members <= MOST_MEMBERS) return;
    fault(path, `brings the schema to ${members} members, which exceed the limit of ${MOST_MEMBERS}`);
  };

  function checkSchema(schema: JsonValue, path: Path, outerDepth: number): void {
    if (typeof schema === "boolean") return;
    if (!isJsonObject(schema)) return fault(path, "must be a JSON Schema: an object or a boolean");
    if (path.length > MOST_NESTING) return fault(path, `nests deeper than ${MOST_NESTING}`);
    schemas.set(schema, path);
    const depth = outerDepth + (holdsOthers(schema) ? 1 : 0);
    if (depth > MOST_DEPTH)
      return fault(path, `is at depth ${depth}, which exceeds the limit of ${MOST_DEPTH} nested objects and arrays`);
    for (const [keyword, value] of Object.entries(schema)) checkKeyword(keyword, value, [...path, keyword], depth);
  }

  function checkKeyword(keyword: string, value: JsonValue, path: Path, depth: number): void {
    if (keyword === "$async") return fault(path, "is not taken: a schema is checked at once");
    if (keyword === "$ref") return void refs.push({ path, ref: value });
    if (keyword === "$dynamicRef") return fault(path, "is not taken. Use $ref with a place of the schema.");
    if (keyword === "$id" && path.length > 1) return fault(path, "is only taken at the root");
    if (keyword === "type" && path.length === 1) return; // checked above
    const form = FORMS.get(keyword);
    if (form && !form[0](value)) return fault(path, form[1]);
    if (keyword === "pattern") checkPattern(value as string, path);
    if (keyword === "required") checkNames(value as string[], path);
    if (ONE.has(keyword)) checkSchema(value, path, depth);
    else if (SEVERAL.has(keyword)) checkList(value, path, depth);
    else if (NAMED.has(keyword)) checkNamed(keyword, value, path, depth);
  }

  function checkList(value: JsonValue, path: Path, depth: number): void {
    if (!Array.isArray(value) || value.length === 0) return fault(path, "must be an array with at least one schema");
    for (const [i, schema] of value.entries()) checkSchema(schema, [...path, String(i)], depth);
  }

  function checkNamed(keyword: string, value: JsonValue, path: Path, depth: number): void {
    if (!isJsonObject(value)) return fault(path, "must be an object whose members are schemas");
    if (keyword === "properties") {
      members += Object.keys(value).length;
      tooMany(path);
      checkNames(Object.keys(value), path);
    }
    for (const [name, schema] of Object.entries(value)) {
      if (keyword === "patternProperties") checkPattern(name, [...path, name]);
      // What a reference leads to counts from there.
      checkSchema(schema, [...path, name], keyword === "$defs" || keyword === "definitions" ? 0 : depth);
    }
  }

  function checkNames(names: readonly string[], path: Path): void {
    for (const name of names)
      if (Array.from(name).length > MOST_NAME_CHARS)
        fault(
          path,
          `has the name ${JSON.stringify(name.slice(0, 20))}…, which is longer than ${MOST_NAME_CHARS} characters`,
        );
  }

  function checkPattern(source: string, path: Path): void {
    try {
      compilePattern(source, room);
    } catch (error) {
      fault(path, `The pattern ${(error as Error).message}`);
    }
  }

  checkSchema(root, [], 0);
  for (const { path, ref } of refs) {
    const target = typeof ref === "string" && ref.startsWith("#/") ? followRef(root, ref) : undefined;
    if (typeof target !== "boolean" && !(isJsonObject(target) && schemas.has(target)))
      fault(path, `${JSON.stringify(ref)} must lead to a schema within this one, such as "#/$defs/Address"`);
  }
  if (faults.length === 0)
    for (const path of endless(root, schemas)) fault(path, "leads back to itself without an end");
  return faults;
}

function holdsOthers({ type, properties, items, prefixItems, additionalProperties }: JsonObject): boolean {
  const named = [type].flat();
  return (
    named.includes("object") ||
    named.includes("array") ||
    [properties, items, prefixItems, additionalProperties].some((keyword) => keyword !== undefined)
  );
}

/** Schemas whose check comes back to themselves with the same value: it would never end. */
function endless(root: JsonObject, schemas: ReadonlyMap<JsonObject, Path>): Path[] {
  const state = new Map<JsonObject, "open" | "done">();
  const found: Path[] = [];
  const visit = (schema: JsonValue | undefined): void => {
    if (!isJsonObject(schema) || state.get(schema) === "done" || found.length > 0) return;
    if (state.get(schema) === "open") return void found.push(schemas.get(schema) ?? []);
    state.set(schema, "open");
    for (const next of sameValue(root, schema)) visit(next);
    state.set(schema, "done");
  };
  for (const schema of schemas.keys()) visit(schema);
  return found;
}

/** The schemas that a schema has checked with its own value. */
function sameValue(root: JsonObject, schema: JsonObject): (JsonValue | undefined)[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === "$ref") return [followRef(root, value as string)];
    if (ONE.get(keyword)) return [value];
    if (SEVERAL.get(keyword) && Array.isArray(value)) return value;
    return NAMED.get(keyword) && isJsonObject(value) ? Object.values(value) : [];
  });
}
