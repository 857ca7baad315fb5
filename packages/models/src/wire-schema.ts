import { followRef, mapSchema } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue, oncePer } from "@patchbay/kit";

/**
 * A function's JSON Schema in a form that every provider accepts: an object at the root without oneOf, anyOf or allOf
 * there (Anthropic and OpenAI refuse them), nor enum or not (OpenAI), no `$schema`, no `propertyNames` (OpenAI and
 * Gemini do not know it), `const` as an `enum` with one value (Gemini). It may allow more than the owner's schema,
 * which checks the arguments.
 */
export const wireSchema = oncePer((schema: JsonObject): JsonObject => flattenRoot(mapSchema(schema, simplify)));

/** Keywords that can require members in an object that lists none. */
const ASKING = [
  "allOf", "anyOf", "oneOf", "if", "not", "$ref", "$dynamicRef", "enum", "const",
  "patternProperties", "propertyNames", "minProperties", "unevaluatedProperties",
]; // prettier-ignore

/** True when the schema lists members. */
export function hasMembers({ properties }: JsonObject): boolean {
  return isJsonObject(properties) && Object.keys(properties).length > 0;
}

/** True when the function takes no arguments at all. */
export function takesNothing(schema: JsonObject): boolean {
  const { additionalProperties = false } = schema;
  return (
    additionalProperties === false &&
    !hasMembers(schema) &&
    requiredOf(schema).length === 0 &&
    !ASKING.some((keyword) => Object.hasOwn(schema, keyword))
  );
}

function simplify({ $schema: _schema, propertyNames, const: value, ...rest }: JsonObject): JsonObject {
  if (value !== undefined) return { ...rest, enum: [value] };
  const { additionalProperties: member, patternProperties, properties = {} } = rest;
  const names = isJsonObject(propertyNames) ? propertyNames["enum"] : undefined;
  if (!Array.isArray(names) || !isJsonObject(member) || !isJsonObject(properties) || patternProperties) return rest;
  // A record with fixed names: the model learns them as optional members.
  const named = Object.fromEntries(names.filter((name) => typeof name === "string").map((name) => [name, member]));
  return { ...rest, properties: { ...named, ...properties }, additionalProperties: false };
}

/**
 * Maximum branches that are followed per schema: a few kilobytes of references can name more than could ever be
 * visited.
 */
const MOST_BRANCHES = 64;

function flattenRoot(root: JsonObject, left: { branches: number } = { branches: MOST_BRANCHES }): JsonObject {
  const { oneOf, anyOf, allOf, $ref, enum: _enum, not: _not, ...rest } = root;
  const flat: JsonObject = { ...rest, type: "object" };
  const target = typeof $ref === "string" ? resolve(root, $ref) : undefined;
  for (const part of [...(target ? [target] : []), ...branches(root, allOf, left)]) merge(flat, part);
  const choices = [...branches(root, oneOf, left), ...branches(root, anyOf, left)];
  if (choices.length > 0) merge(flat, unite(choices));
  flat["properties"] ??= {};
  return flat;
}

function branches(root: JsonObject, list: JsonValue | undefined, left: { branches: number }): JsonObject[] {
  if (!Array.isArray(list)) return [];
  const targets = list
    .filter(isJsonObject)
    .map((branch) => (typeof branch["$ref"] === "string" ? (resolve(root, branch["$ref"]) ?? {}) : branch));
  // A branch that is named again adds nothing, but would be copied again.
  return [...new Set(targets)].map((target) => {
    if (left.branches-- <= 0) return {};
    // Branches may themselves be choices. A schema that refers to the root ends here.
    return target === root || target["$ref"] !== undefined
      ? {}
      : flattenRoot({ $defs: root["$defs"] ?? {}, ...target }, left);
  });
}

function resolve(root: JsonObject, ref: string): JsonObject | undefined {
  const target = ref === "#" ? undefined : followRef(root, ref);
  return isJsonObject(target) ? target : undefined;
}

/** One object that allows each choice: it has all their members, and requires those that all of them require. */
function unite(choices: JsonObject[]): JsonObject {
  const properties: JsonObject = {};
  for (const choice of choices) {
    for (const [name, schema] of Object.entries(isJsonObject(choice["properties"]) ? choice["properties"] : {})) {
      properties[name] = Object.hasOwn(properties, name) ? either(properties[name]!, schema) : schema;
    }
  }
  const required = choices
    .map((choice) => new Set(requiredOf(choice)))
    .reduce((all, names) => new Set([...all].filter((one) => names.has(one))));
  return { properties, required: [...required] };
}

function either(a: JsonValue, b: JsonValue): JsonValue {
  if (JSON.stringify(a) === JSON.stringify(b) || !isJsonObject(a) || !isJsonObject(b)) return a;
  // A union's discriminator: one list with its values.
  if (Array.isArray(a["enum"]) && Array.isArray(b["enum"]) && a["type"] === b["type"])
    return { ...a, enum: [...new Set([...a["enum"], ...b["enum"]])] };
  return { anyOf: [...(Array.isArray(a["anyOf"]) && Object.keys(a).length === 1 ? a["anyOf"] : [a]), b] };
}

function merge(into: JsonObject, part: JsonObject): void {
  const own = isJsonObject(into["properties"]) ? into["properties"] : {};
  into["properties"] = { ...(isJsonObject(part["properties"]) ? part["properties"] : {}), ...own };
  const required = [...new Set([...requiredOf(into), ...requiredOf(part)])];
  if (required.length > 0) into["required"] = required;
  // Parts may exclude each other's members.
  delete into["additionalProperties"];
}

/** The members that an object requires. */
export function requiredOf(schema: JsonObject): string[] {
  return Array.isArray(schema["required"]) ? schema["required"].filter((name) => typeof name === "string") : [];
}
