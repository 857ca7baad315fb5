import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { alternativesIn, areDisjoint } from "./schema-alternatives.ts";
import { followRef, MARK, mapSchema, withoutMark } from "./subschemas.ts";

/** The part is never sent. A keyword that no comparison knows, so that what contains it is compared as a whole. */
const HIDDEN = "hidden";

/** The lists of roles in the marks of a schema. */
export function marksIn(root: JsonObject): string[][] {
  const found: string[][] = [];
  mapSchema(root, (schema) => {
    if (Array.isArray(schema[MARK])) found.push(schema[MARK] as string[]);
    return schema;
  });
  return found;
}

/**
 * The schema of what a role receives. A hidden member, a hidden item and the values of a hidden branch are not sent; the position
 * of a hidden item of a tuple, and a hidden result, are null. Undefined: a query without a role.
 */
export function redactedFor(root: JsonObject, role: string | undefined): JsonObject {
  const sees = (mark: JsonValue | undefined): boolean =>
    !Array.isArray(mark) || (role !== undefined && mark.includes(role));
  const isHidden = (schema: JsonValue | undefined, above: readonly JsonValue[] = []): boolean => {
    if (!isJsonObject(schema) || above.includes(schema) || above.length > DEPTH) return false;
    if (!sees(schema[MARK])) return true;
    const within = [...above, schema];
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === "string" && isHidden(followRef(root, $ref), within)) return true;
    if (Array.isArray(allOf) && allOf.some((part) => isHidden(part, within))) return true;
    // Null matches every branch, so it is removed with a hidden one.
    return [anyOf, oneOf].some(
      (branches) =>
        Array.isArray(branches) &&
        branches.some((one) => isHidden(one, within)) &&
        branches.every((one) => isNull(one) || isHidden(one, within)),
    );
  };
  const branchesOf = unionReader(root, isHidden);
  if (isHidden(root)) return { const: null };
  return mapSchema(root, (part, path) => {
    const made = withoutMark(part);
    const original = path.reduce((part, step) => (part as JsonObject)[step]!, root as JsonValue) as JsonObject;
    return withoutHidden(original, branchesOf(original, made), isHidden);
  });
}

const DEPTH = 50;
const isNull = (schema: JsonValue): boolean =>
  isJsonObject(schema) && (schema["type"] === "null" || schema["const"] === null);

/** Removes the members and items that are hidden. `original` has the marks, `made` the redacted parts. */
function withoutHidden(
  original: JsonObject,
  made: JsonObject,
  isHidden: (part: JsonValue | undefined) => boolean,
): JsonObject {
  const schema = { ...made };
  const { properties, required, additionalProperties, items, prefixItems } = original;
  if (isJsonObject(properties)) {
    const hidden = new Set(Object.keys(properties).filter((name) => isHidden(properties[name])));
    const redacted = schema["properties"] as JsonObject;
    schema["properties"] = Object.fromEntries(
      Object.entries(redacted).map(([name, member]) => [name, hidden.has(name) ? false : member]),
    );
    if (Array.isArray(required)) schema["required"] = required.filter((name) => !hidden.has(name as string));
    if (hidden.size > 0) delete schema["minProperties"];
  }
  if (isHidden(additionalProperties)) {
    schema["additionalProperties"] = false;
    delete schema["minProperties"];
  }
  if (isHidden(items)) {
    schema["items"] = false;
    delete schema["minItems"];
  }
  if (Array.isArray(prefixItems))
    schema["prefixItems"] = prefixItems.map((one, i) =>
      isHidden(one) ? { const: null } : (schema["prefixItems"] as JsonValue[])[i]!,
    );
  return schema;
}

/**
 * Removes the hidden branches of a union whose branches no value shares. In any other union with a mark, the values that are sent
 * depend on each value, so it can only be equal to itself.
 */
function unionReader(root: JsonObject, isHidden: (part: JsonValue) => boolean) {
  let steps = 50_000;
  const alternatives = alternativesIn(root, () => --steps > 0);
  return (original: JsonObject, made: JsonObject): JsonObject => {
    const keyword = ["anyOf", "oneOf"].find((one) => Array.isArray(original[one]));
    if (keyword === undefined) return made;
    const branches = original[keyword] as JsonValue[];
    const hides = branches.map((one) => isHidden(one));
    if (!hides.includes(true) && JSON.stringify(branches.map(unmarked)) === JSON.stringify(made[keyword])) return made;
    const lists = branches.map((one) => alternatives(unmarked(one)));
    const apart = lists.every(
      (one, i) => one?.apart && lists.slice(i + 1).every((other) => other && areDisjoint(one.list, other.list)),
    );
    if (!apart) return { ...made, [HIDDEN]: { ...original } };
    const kept = (made[keyword] as JsonValue[]).filter(
      (_, i) => !hides[i] && !(hides.includes(true) && isNull(branches[i]!)),
    );
    return { ...made, [keyword]: kept };
  };
}

function unmarked(schema: JsonValue): JsonValue {
  return isJsonObject(schema) ? mapSchema(schema, withoutMark) : schema;
}
