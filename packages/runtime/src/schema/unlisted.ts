import { followRef } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { ownMatcher, withSteps } from "./patterns.ts";

/**
 * Drops the properties that no part of a JSON Schema lists, at every depth, as zod does. Keeps all properties if the
 * schema mentions unlisted ones (`additionalProperties`, `unevaluatedProperties`) or lists none.
 */
export function dropUnlisted(schema: JsonObject, value: JsonValue): JsonValue {
  return withSteps(() => prune([schema], value, schema));
}

function prune(schemas: readonly JsonObject[], value: JsonValue, root: JsonObject): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  // Shared by all parts, because parts with a common target would double the work at each level.
  const seen = new Set<JsonObject>();
  const parts = schemas.flatMap((schema) => partsOf(schema, value, root, seen));
  if (Array.isArray(value))
    return value.map((item, i) =>
      prune(
        parts.flatMap((part) => schemasOfItem(part, i)),
        item,
        root,
      ),
    );

  const open = parts.every((part) => part["properties"] === undefined) || parts.some(mentionsUnlisted);
  const kept = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    const found = parts.flatMap((part) => schemasOfMember(part, name));
    return found.length === 0 && !open ? [] : [[name, prune(found.filter(isJsonObject), member, root)]];
  });
  return Object.fromEntries(kept);
}

/**
 * A schema with all its component schemas, without branches that the value cannot match, because their properties are
 * not listed for it. Enters circular references once.
 */
function partsOf(schema: JsonObject, value: JsonValue, root: JsonObject, seen: Set<JsonObject>): JsonObject[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, $dynamicRef, allOf, anyOf, oneOf, then, else: otherwise, dependentSchemas } = schema;
  const [all, ...either] = [allOf, anyOf, oneOf].map((list) => (Array.isArray(list) ? list : []));
  const composed = [...all!, ...either.flat().filter((branch) => canBe(branch, value))];
  if (isJsonObject(dependentSchemas)) composed.push(...Object.values(dependentSchemas));
  const referred = [$ref, $dynamicRef].map((ref) => (typeof ref === "string" ? followRef(root, ref) : undefined));
  return [
    schema,
    ...[...composed, then, otherwise, ...referred]
      .filter(isJsonObject)
      .flatMap((part) => partsOf(part, value, root, seen)),
  ];
}

/** False if the value cannot match a branch: it has another type, or a property such as `kind` has another value. */
function canBe(branch: JsonValue, value: JsonValue): boolean {
  if (!isJsonObject(branch)) return true;
  const { type, properties } = branch;
  if (type !== undefined && ![type].flat().includes(Array.isArray(value) ? "array" : "object")) return false;
  if (!isJsonObject(properties) || !isJsonObject(value)) return true;
  return Object.entries(properties).every(([name, member]) => {
    if (!isJsonObject(member) || !Object.hasOwn(value, name)) return true;
    const values: JsonValue | undefined = member["const"] === undefined ? member["enum"] : [member["const"]];
    if (!Array.isArray(values) || values.some((value) => typeof value === "object" && value !== null)) return true;
    return values.includes(value[name] ?? null);
  });
}

function mentionsUnlisted(part: JsonObject): boolean {
  return part["additionalProperties"] !== undefined || part["unevaluatedProperties"] !== undefined;
}

function schemasOfMember(part: JsonObject, name: string): JsonValue[] {
  const { properties, patternProperties, additionalProperties, required } = part;
  const listed = isJsonObject(properties) && Object.hasOwn(properties, name) ? [properties[name] ?? true] : [];
  if (Array.isArray(required) && required.includes(name)) listed.push(true);
  const matched = isJsonObject(patternProperties)
    ? Object.entries(patternProperties).flatMap(([pattern, schema]) => (ownMatcher(pattern).test(name) ? [schema] : []))
    : [];
  const found = [...listed, ...matched];
  return found.length === 0 && isJsonObject(additionalProperties) ? [additionalProperties] : found;
}

function schemasOfItem(part: JsonObject, index: number): JsonObject[] {
  const { prefixItems, items } = part;
  const own = Array.isArray(prefixItems) ? prefixItems[index] : undefined;
  return [own ?? items].filter(isJsonObject);
}
