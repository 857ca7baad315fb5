import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

const ONE = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const LIST = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const NAMED = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]);

/**
 * Rebuilds a JSON Schema from the leaves up: `change` receives each schema object and its path. Enters only keywords that contain
 * schemas, so a property named `$ref` or a default value that looks like a schema stays unchanged.
 */
export function mapSchema(
  schema: JsonObject,
  change: (schema: JsonObject, path: readonly string[]) => JsonObject,
  path: readonly string[] = [],
): JsonObject {
  const into = (value: JsonValue, at: readonly string[]): JsonValue =>
    isJsonObject(value) ? mapSchema(value, change, at) : value;
  const entries = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    const at = [...path, keyword];
    if (Array.isArray(value) && (LIST.has(keyword) || keyword === "items"))
      return [keyword, value.map((item, i) => into(item, [...at, String(i)]))];
    if (NAMED.has(keyword) && isJsonObject(value))
      return [keyword, mapMembers(value, (name, member) => into(member, [...at, name]))];
    return [keyword, ONE.has(keyword) ? into(value, at) : value];
  });
  return change(Object.fromEntries(entries), path);
}

function mapMembers(members: JsonObject, change: (name: string, member: JsonValue) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(name, member)]));
}

/** The schema that a local reference such as `#/$defs/Address` points to. Undefined if it does not exist. */
export function followRef(root: JsonObject, ref: string): JsonValue | undefined {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let target: JsonValue | undefined = root;
  for (const step of ref.slice(2).split("/")) {
    const name = pointerName(step);
    if (Array.isArray(target)) target = target[Number(name)];
    else if (isJsonObject(target) && Object.hasOwn(target, name)) target = target[name];
    else return undefined;
  }
  return target;
}

/** The name that a step of a JSON Pointer in a URI stands for. */
export function pointerName(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A bare percent sign is a part of the name.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The path of a value that a place in a JSON Schema describes: `items.0.price` for `properties/items/items/properties/price`. */
export function memberPath(path: readonly (string | number)[]): string {
  const names: string[] = [];
  for (let i = 0; i < path.length; i++) {
    const keyword = String(path[i]);
    if (keyword === "items" || keyword === "additionalProperties") names.push("*");
    else if (NAMED.has(keyword) || LIST.has(keyword)) {
      const name = String(path[++i]);
      if (NAMED.has(keyword) || keyword === "prefixItems") names.push(name);
    }
  }
  return names.join(".");
}

const ANNOTATIONS = new Set([
  "$comment",
  "$schema",
  "default",
  "deprecated",
  "description",
  "examples",
  "id",
  "readOnly",
  "title",
  "writeOnly",
]);

/** The keyword of an output schema that lists the roles which receive a part of a result. */
export const MARK = "x-visible-to";

/** The schema without keywords that do not affect validation: descriptions, examples, defaults, and names that begin with `x-`. */
export function withoutAnnotations(schema: JsonObject): JsonObject {
  return mapSchema(withoutTexts(schema), withoutMark);
}

/** A schema object without its own mark. */
export function withoutMark(schema: JsonObject): JsonObject {
  const { [MARK]: _, ...rest } = schema;
  return rest;
}

/** The same, with the marks of restricted fields. */
export function withoutTexts(schema: JsonObject): JsonObject {
  const isKept = (name: string) => name === MARK || (!ANNOTATIONS.has(name) && !name.startsWith("x-"));
  return mapSchema(schema, (one) => Object.fromEntries(Object.entries(one).filter(([name]) => isKept(name))));
}

/** The schema with an explicit `additionalProperties: true` in each object that lists properties and does not mention others. */
export function withOpenObjects(schema: JsonObject): JsonObject {
  return mapSchema(schema, (one) =>
    isJsonObject(one["properties"]) && one["additionalProperties"] === undefined
      ? { ...one, additionalProperties: true }
      : one,
  );
}
