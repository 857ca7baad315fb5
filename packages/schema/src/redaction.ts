import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps } from "@patchbay/kit";
import { alternativesIn, areDisjoint } from "./alternatives.ts";
import { followRef, isSame, MARK, mapSchema, takeSchema, withoutMark } from "./subschemas.ts";

/** The part is never sent. No comparison knows this keyword, so a schema that contains it is compared as a whole. */
const HIDDEN = "hidden";

/** The role lists in a schema's marks. */
export function marksIn(root: JsonObject, steps?: Steps): string[][] {
  const found: string[][] = [];
  const note = (schema: JsonObject): JsonObject => {
    if (Array.isArray(schema[MARK])) found.push(schema[MARK] as string[]);
    return schema;
  };
  mapSchema(root, note, steps);
  return found;
}

/**
 * The schema for what a role receives. A hidden member, a hidden item and a hidden branch's values are not sent; a
 * tuple's hidden item and a hidden result are null. Undefined: a query without a role. Throws `TooManySteps`.
 */
export function redactedFor(root: JsonObject, role: string | undefined, steps: Steps): JsonObject {
  const sees = (mark: JsonValue | undefined): boolean =>
    !Array.isArray(mark) || (role !== undefined && mark.includes(role));
  const isHidden = (schema: JsonValue | undefined, above: readonly JsonValue[] = []): boolean => {
    if (!isJsonObject(schema) || above.includes(schema) || above.length > DEPTH) return false;
    takeSchema(steps, schema);
    takeSteps(steps, above.length);
    if (!sees(schema[MARK])) return true;
    const within = [...above, schema];
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === "string" && isHidden(followRef(root, $ref), within)) return true;
    if (Array.isArray(allOf) && allOf.some((part) => isHidden(part, within))) return true;
    // Null matches every branch, so it is removed with a hidden one.
    return [anyOf, oneOf].some(
      (branches) =>
        Array.isArray(branches) &&
        branches.some((branch) => isHidden(branch, within)) &&
        branches.every((branch) => isNull(branch) || isHidden(branch, within)),
    );
  };
  const branchesOf = unionReader(root, isHidden, steps);
  if (isHidden(root)) return { const: null };
  const redacted = (part: JsonObject, path: readonly string[]): JsonObject => {
    const made = withoutMark(part);
    const original = path.reduce((part, step) => (part as JsonObject)[step]!, root as JsonValue) as JsonObject;
    takeSchema(steps, original);
    return withoutHidden(original, branchesOf(original, made), isHidden);
  };
  return mapSchema(root, redacted, steps);
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
    schema["prefixItems"] = prefixItems.map((item, i) =>
      isHidden(item) ? { const: null } : (schema["prefixItems"] as JsonValue[])[i]!,
    );
  return schema;
}

/**
 * Removes a union's hidden branches if its branches share no value. In any other union with a mark, what is sent
 * depends on each value, so it can only be equal to itself.
 */
function unionReader(root: JsonObject, isHidden: (part: JsonValue) => boolean, steps: Steps) {
  const alternatives = alternativesIn(root, steps);
  const unmarked = (schema: JsonValue): JsonValue =>
    isJsonObject(schema) ? mapSchema(schema, withoutMark, steps) : schema;
  return (original: JsonObject, made: JsonObject): JsonObject => {
    const keyword = ["anyOf", "oneOf"].find((name) => Array.isArray(original[name]));
    if (keyword === undefined) return made;
    const branches = original[keyword] as JsonValue[];
    const hides = branches.map((branch) => isHidden(branch));
    const whole = branches.map(unmarked);
    if (!hides.includes(true) && isSame(whole, made[keyword]!, { whole: true, steps })) return made;
    const lists = whole.map((branch) => alternatives(branch));
    const apart = lists.every(
      (is, i) => is?.apart && lists.slice(i + 1).every((other) => other && areDisjoint(is.list, other.list, steps)),
    );
    if (!apart) return { ...made, [HIDDEN]: { ...original } };
    const kept = (made[keyword] as JsonValue[]).filter(
      (_, i) => !hides[i] && !(hides.includes(true) && isNull(branches[i]!)),
    );
    return { ...made, [keyword]: kept };
  };
}
