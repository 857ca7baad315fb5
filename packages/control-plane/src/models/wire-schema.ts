import { followRef, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";

const known = new WeakMap<JsonObject, JsonObject>();

/**
 * A function's JSON Schema in the form that every provider takes: an object at the root without oneOf, anyOf or allOf there
 * (Anthropic and OpenAI refuse them), nor enum or not (OpenAI), no `$schema`, no `propertyNames` (OpenAI and Gemini do not know it), `const` as an
 * `enum` of one (Gemini). It may allow more than the owner's schema, which is what arguments are checked against.
 * Worked out once for each schema.
 */
export function wireSchema(schema: JsonObject): JsonObject {
  let wire = known.get(schema);
  if (!wire) known.set(schema, (wire = flattenRoot(simplify(schema))));
  return wire;
}

/** Keywords by which an object that lists no members can ask for some all the same. */
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

/** Members whose value maps names of the owner's choosing to schemas. */
const NAMED_SCHEMAS = new Set(["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]);
/** Members whose value is data, never a schema. */
const DATA = new Set(["enum", "default", "examples", "required", "const"]);

function simplify(schema: JsonObject): JsonObject {
  const simple: JsonObject = {};
  for (const [member, value] of Object.entries(schema)) {
    if (member === "$schema" || member === "propertyNames") continue;
    if (member === "const") simple["enum"] = [value];
    else if (DATA.has(member)) simple[member] = value;
    else if (NAMED_SCHEMAS.has(member) && isJsonObject(value))
      simple[member] = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, simplifyValue(inner)]));
    else simple[member] = simplifyValue(value);
  }
  return simple;
}

function simplifyValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(simplifyValue);
  return isJsonObject(value) ? simplify(value) : value;
}

/** Branches looked into for one schema: a few kilobytes of references can name more of them than could ever be visited. */
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
  return list.filter(isJsonObject).map((branch) => {
    if (left.branches-- <= 0) return {};
    const target = typeof branch["$ref"] === "string" ? (resolve(root, branch["$ref"]) ?? {}) : branch;
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

/** One object that each of the choices fits: all their members, required where all require them. */
function unite(choices: JsonObject[]): JsonObject {
  const properties: JsonObject = {};
  for (const choice of choices) {
    for (const [name, schema] of Object.entries(isJsonObject(choice["properties"]) ? choice["properties"] : {})) {
      properties[name] = Object.hasOwn(properties, name) ? either(properties[name]!, schema) : schema;
    }
  }
  const required = choices
    .map((choice) => requiredOf(choice))
    .reduce((all, names) => all.filter((n) => names.includes(n)));
  return { properties, required };
}

function either(a: JsonValue, b: JsonValue): JsonValue {
  if (JSON.stringify(a) === JSON.stringify(b) || !isJsonObject(a) || !isJsonObject(b)) return a;
  // The discriminator of a union: one list of its values.
  if (Array.isArray(a["enum"]) && Array.isArray(b["enum"]) && a["type"] === b["type"])
    return { ...a, enum: [...new Set([...a["enum"], ...b["enum"]])] };
  return { anyOf: [...(Array.isArray(a["anyOf"]) && Object.keys(a).length === 1 ? a["anyOf"] : [a]), b] };
}

function merge(into: JsonObject, part: JsonObject): void {
  const own = isJsonObject(into["properties"]) ? into["properties"] : {};
  into["properties"] = { ...(isJsonObject(part["properties"]) ? part["properties"] : {}), ...own };
  const required = [...new Set([...requiredOf(into), ...requiredOf(part)])];
  if (required.length > 0) into["required"] = required;
  // Parts may close themselves against each other's members.
  delete into["additionalProperties"];
}

function requiredOf(schema: JsonObject): string[] {
  return Array.isArray(schema["required"]) ? schema["required"].filter((name) => typeof name === "string") : [];
}
