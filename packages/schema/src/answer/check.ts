import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { followRef } from "../subschemas.ts";
import { compilePattern, MOST_PARTS } from "./pattern.ts";

const MOST_BYTES = 65_536;
const MOST_DEPTH = 10;
const MOST_PROPERTIES = 200;
const MOST_NAME_CHARS = 64;
/** JSON levels, which exceed the value levels because keywords such as `properties` and `anyOf` add their own. */
const MOST_NESTING = 64;
const MOST_FAULTS = 20;

/** A keyword value's condition, and the fault message. */
type Form = readonly [takes: (value: JsonValue) => boolean, message: string];

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
const isName = (value: JsonValue) => typeof value === "string" && TYPES.includes(value);
const isDistinct = (values: readonly JsonValue[]) => new Set(values).size === values.length;
const isTexts = (value: JsonValue) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") && isDistinct(value);

const NUMBER: Form = [(value) => typeof value === "number", "must be a number"];
const COUNT: Form = [(value) => Number.isInteger(value) && (value as number) >= 0, "must be an integer of 0 or more"];
const TEXT: Form = [(value) => typeof value === "string", "must be a string"];
const FLAG: Form = [(value) => typeof value === "boolean", "must be a boolean"];
const LIST: Form = [Array.isArray, "must be an array"];
const NAMES: Form = [isTexts, "must be an array of different strings"];
const LISTS_OF_NAMES: Form = [
  (value) => isJsonObject(value) && Object.values(value).every(isTexts),
  "must be an object with arrays of different strings as values",
];

/** 2020-12 keywords without schemas. */
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

/** Keywords with one schema, a list of schemas, or schemas by name. True if the schemas apply to the same value. */
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

/** One schema fault: the keyword's path, and what is wrong there. */
export interface SchemaFault {
  path: Path;
  message: string;
}

/**
 * The faults in a JSON Schema for an answer. Beyond JSON Schema 2020-12 it must respect the model providers' limits,
 * and limits that bound the time to validate any value. Ignores unknown keywords.
 */
export function checkResponseSchema(root: unknown): SchemaFault[] {
  if (!isJsonObject(root)) return [{ path: [], message: "must be a JSON object" }];
  const sizeBytes = new TextEncoder().encode(JSON.stringify(root)).byteLength;
  if (sizeBytes > MOST_BYTES)
    return [{ path: [], message: `has ${sizeBytes} bytes, which exceed the limit of ${MOST_BYTES}. Describe less.` }];
  return new SchemaChecker(root).check();
}

class SchemaChecker {
  readonly #root: JsonObject;
  readonly #faults: SchemaFault[] = [];
  readonly #schemas = new Map<JsonObject, Path>();
  readonly #refs: { path: Path; ref: JsonValue }[] = [];
  /** Shared by all patterns: together they are kept in memory while a value is validated. */
  readonly #room = { parts: MOST_PARTS };
  #properties = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  check(): SchemaFault[] {
    for (const keyword of ["anyOf", "oneOf", "allOf"])
      if (keyword in this.#root)
        this.#fault(
          [keyword],
          "is not supported at the root, because models do not accept it. Put it inside a property.",
        );
    if (this.#root["type"] !== "object")
      this.#fault(["type"], `must be "object": an answer is one object with properties`);
    this.#checkSchema(this.#root, [], 0);
    for (const { path, ref } of this.#refs) this.#checkRef(ref, path);
    if (this.#faults.length === 0)
      for (const path of endless(this.#root, this.#schemas)) this.#fault(path, "refers to itself without an end");
    return this.#faults;
  }

  #fault(path: Path, message: string): void {
    if (this.#faults.length < MOST_FAULTS) this.#faults.push({ path, message });
  }

  #checkSchema(schema: JsonValue, path: Path, outerDepth: number): void {
    if (typeof schema === "boolean") return;
    if (!isJsonObject(schema)) return this.#fault(path, "must be a JSON Schema: an object or a boolean");
    if (path.length > MOST_NESTING) return this.#fault(path, `nests deeper than ${MOST_NESTING}`);
    this.#schemas.set(schema, path);
    const depth = outerDepth + (describesContainer(schema) ? 1 : 0);
    if (depth > MOST_DEPTH)
      return this.#fault(
        path,
        `is at depth ${depth}, which exceeds the limit of ${MOST_DEPTH} nested objects and arrays`,
      );
    for (const [keyword, value] of Object.entries(schema))
      this.#checkKeyword(keyword, value, [...path, keyword], depth);
  }

  #checkKeyword(keyword: string, value: JsonValue, path: Path, depth: number): void {
    if (keyword === "$async") return this.#fault(path, "is not supported: validation is synchronous");
    if (keyword === "$ref") return void this.#refs.push({ path, ref: value });
    if (keyword === "$dynamicRef") return this.#fault(path, "is not supported. Use $ref with a path in the schema.");
    if (keyword === "$id" && path.length > 1) return this.#fault(path, "is supported at the root only");
    if (keyword === "type" && path.length === 1) return; // Checked in check().
    const form = FORMS.get(keyword);
    if (form && !form[0](value)) return this.#fault(path, form[1]);
    if (keyword === "pattern") this.#checkPattern(value as string, path);
    if (keyword === "required") this.#checkNames(value as string[], path);
    if (ONE.has(keyword)) this.#checkSchema(value, path, depth);
    else if (SEVERAL.has(keyword)) this.#checkList(value, path, depth);
    else if (NAMED.has(keyword)) this.#checkNamed(keyword, value, path, depth);
  }

  #checkList(value: JsonValue, path: Path, depth: number): void {
    if (!Array.isArray(value) || value.length === 0)
      return this.#fault(path, "must be an array with at least one schema");
    for (const [i, schema] of value.entries()) this.#checkSchema(schema, [...path, String(i)], depth);
  }

  #checkNamed(keyword: string, value: JsonValue, path: Path, depth: number): void {
    if (!isJsonObject(value)) return this.#fault(path, "must be an object with schemas as values");
    if (keyword === "properties") this.#countProperties(Object.keys(value), path);
    for (const [name, schema] of Object.entries(value)) {
      if (keyword === "patternProperties") this.#checkPattern(name, [...path, name]);
      // A definition's depth counts from the definition.
      this.#checkSchema(schema, [...path, name], keyword === "$defs" || keyword === "definitions" ? 0 : depth);
    }
  }

  #countProperties(names: readonly string[], path: Path): void {
    this.#properties += names.length;
    if (this.#properties > MOST_PROPERTIES)
      this.#fault(
        path,
        `brings the schema to ${this.#properties} properties, which exceed the limit of ${MOST_PROPERTIES}`,
      );
    this.#checkNames(names, path);
  }

  #checkNames(names: readonly string[], path: Path): void {
    for (const name of names)
      if (Array.from(name).length > MOST_NAME_CHARS)
        this.#fault(
          path,
          `has the name ${JSON.stringify(name.slice(0, 20))}…, which is longer than ${MOST_NAME_CHARS} characters`,
        );
  }

  #checkPattern(source: string, path: Path): void {
    try {
      compilePattern(source, this.#room);
    } catch (error) {
      this.#fault(path, `The pattern ${(error as Error).message}`);
    }
  }

  #checkRef(ref: JsonValue, path: Path): void {
    const target = typeof ref === "string" && ref.startsWith("#/") ? followRef(this.#root, ref) : undefined;
    if (typeof target !== "boolean" && !(isJsonObject(target) && this.#schemas.has(target)))
      this.#fault(path, `${JSON.stringify(ref)} must point to a schema within this one, such as "#/$defs/Address"`);
  }
}

function describesContainer({ type, properties, items, prefixItems, additionalProperties }: JsonObject): boolean {
  const named = [type].flat();
  return (
    named.includes("object") ||
    named.includes("array") ||
    [properties, items, prefixItems, additionalProperties].some((keyword) => keyword !== undefined)
  );
}

/** Schemas whose validation returns to themselves with the same value, and so would never end. */
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

/** The schemas that a schema applies to its own value. */
function sameValue(root: JsonObject, schema: JsonObject): (JsonValue | undefined)[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === "$ref") return [followRef(root, value as string)];
    if (ONE.get(keyword)) return [value];
    if (SEVERAL.get(keyword) && Array.isArray(value)) return value;
    return NAMED.get(keyword) && isJsonObject(value) ? Object.values(value) : [];
  });
}
