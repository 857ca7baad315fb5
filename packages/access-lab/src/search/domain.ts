import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { followRef } from "@patchbay/schema";

/** Keywords that add values outside the enumeration. Others only refuse values, which the gate does. */
const UNKNOWN = ["allOf", "if", "patternProperties", "dependentSchemas", "unevaluatedProperties", "$dynamicRef"];
const DEPTH = 8;

/**
 * Every value that a schema accepts, as far as code behind the parser can tell values apart, and some that it refuses. Undefined if
 * these are more than `limit`, or if that is not known.
 */
export function domainOf(schema: JsonValue, limit: number): JsonValue[] | undefined {
  return isJsonObject(schema) ? enumerate(schema, { root: schema, limit, depth: 0 }) : undefined;
}

interface Enumeration {
  root: JsonObject;
  limit: number;
  depth: number;
}

function enumerate(schema: JsonValue, search: Enumeration): JsonValue[] | undefined {
  if (schema === false) return [];
  if (!isJsonObject(schema) || search.depth > DEPTH || UNKNOWN.some((name) => Object.hasOwn(schema, name)))
    return undefined;
  const inner = { ...search, depth: search.depth + 1 };
  const { const: only, enum: listed, anyOf, oneOf, $ref, type } = schema;
  if (only !== undefined) return [only];
  if (Array.isArray(listed)) return listed.length <= search.limit ? listed : undefined;
  if (typeof $ref === "string") return enumerate(followRef(search.root, $ref) ?? {}, inner);
  const branches = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(branches))
    return union(
      branches.map((branch) => enumerate(branch, inner)),
      search.limit,
    );
  if (type === undefined) return undefined;
  return union(
    [type].flat().map((name) => ofType(name, schema, inner)),
    search.limit,
  );
}

function ofType(type: JsonValue, schema: JsonObject, search: Enumeration): JsonValue[] | undefined {
  if (type === "boolean") return [false, true];
  if (type === "null") return [null];
  if (type === "string") return schema["maxLength"] === 0 ? [""] : undefined;
  if (type === "integer") return integers(schema, search.limit);
  if (type === "object") return objects(schema, search);
  return type === "array" ? arrays(schema, search) : undefined;
}

function integers(schema: JsonObject, limit: number): JsonValue[] | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const numbers = (...all: unknown[]) => all.filter((value) => typeof value === "number");
  const low = Math.ceil(Math.max(...numbers(minimum, exclusiveMinimum)));
  const high = Math.floor(Math.min(...numbers(maximum, exclusiveMaximum)));
  if (!Number.isFinite(low) || !Number.isFinite(high) || high - low >= limit) return undefined;
  return Array.from({ length: Math.max(0, high - low + 1) }, (_, i) => low + i);
}

function objects(schema: JsonObject, search: Enumeration): JsonValue[] | undefined {
  const { properties = {}, required, additionalProperties } = schema;
  // Parser objects drop unlisted members. An open object in raw JSON Schema says that it is open.
  const isClosed =
    additionalProperties === undefined ? schema["properties"] !== undefined : additionalProperties === false;
  if (!isClosed || !isJsonObject(properties)) return undefined;
  const needed = Array.isArray(required) ? required : [];
  let found: JsonObject[] = [{}];
  for (const [name, property] of Object.entries(properties)) {
    const values = enumerate(property, search);
    if (values === undefined || found.length * (values.length + 1) > search.limit) return undefined;
    const without = needed.includes(name) ? [] : found;
    found = [...without, ...found.flatMap((object) => values.map((value) => ({ ...object, [name]: value })))];
  }
  return found;
}

function arrays({ items, prefixItems, maxItems }: JsonObject, search: Enumeration): JsonValue[] | undefined {
  if (maxItems === 0) return [[]];
  if (typeof maxItems !== "number" || prefixItems !== undefined || items === undefined) return undefined;
  const values = enumerate(items, search);
  if (values === undefined) return undefined;
  let [found, longest]: [JsonValue[][], JsonValue[][]] = [[[]], [[]]];
  for (let length = 1; length <= maxItems && longest.length > 0; length++) {
    if (longest.length * values.length + found.length > search.limit) return undefined;
    longest = longest.flatMap((list) => values.map((value) => [...list, value]));
    found = [...found, ...longest];
  }
  return found;
}

/** The distinct values from all parts. */
export function union(parts: readonly (readonly JsonValue[] | undefined)[], limit: number): JsonValue[] | undefined {
  const found = new Map<string, JsonValue>();
  for (const part of parts) {
    if (part === undefined) return undefined;
    for (const value of part) found.set(canonicalJson(value), value);
  }
  return found.size <= limit ? [...found.values()] : undefined;
}
