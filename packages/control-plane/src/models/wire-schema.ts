import { followRef, isJsonObject, type JsonObject, type JsonValue, mapSchema, oncePer } from "@patchbay/protocol";
import type { ModelFunction } from "../ports/model-provider.ts";

/**
 * A function's JSON Schema in the form that every provider takes: an object at the root without oneOf, anyOf or allOf there
 * (Anthropic and OpenAI refuse them), nor enum or not (OpenAI), no `$schema`, no `propertyNames` (OpenAI and Gemini do not know it), `const` as an
 * `enum` of one (Gemini). It may allow more than the owner's schema, which is what arguments are checked against.
 */
export const wireSchema = oncePer((schema: JsonObject): JsonObject => flattenRoot(mapSchema(schema, simplify)));

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

function simplify({ $schema: _schema, propertyNames: _names, const: value, ...rest }: JsonObject): JsonObject {
  return value === undefined ? rest : { ...rest, enum: [value] };
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

/**
 * What both OpenAI and Claude take in a strict schema. Each has more that the other lacks, and refuses the whole request for a
 * keyword that it lacks: https://developers.openai.com/api/docs/guides/structured-outputs,
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs (2026-11-22).
 */
const ANNOTATIONS = ["title", "description"];
const CHOICE = new Set(["anyOf", ...ANNOTATIONS]);
const OBJECT = new Set(["type", "properties", "required", "additionalProperties", ...ANNOTATIONS]);
const LIST = new Set(["type", "items", ...ANNOTATIONS]);
const SCALAR = new Set(["type", "enum", ...ANNOTATIONS]);
const SCALARS = new Set(["string", "number", "integer", "boolean", "null"]);
const MOST = { members: 100, unions: 16, values: 250, depth: 5, chars: 15_000 };

/** Whether providers can be asked to write nothing but arguments that meet the schema. Others are corrected afterwards. */
export function takesStrict(one: ModelFunction | undefined): boolean {
  if (!one) return false;
  const wire = wireSchema(one.inputSchema);
  if (JSON.stringify(wire).length > MOST.chars) return false;
  const count: Counts = { members: 0, unions: 0, values: 0 };
  if (!fits(wire, 1, count)) return false;
  return count.members <= MOST.members && count.unions <= MOST.unions && count.values <= MOST.values;
}

type Counts = Record<"members" | "unions" | "values", number>;

function fits(schema: JsonValue | undefined, depth: number, count: Counts): boolean {
  if (!isJsonObject(schema) || depth > MOST.depth) return false;
  const { type, anyOf, items, enum: values } = schema;
  const hasOnly = (keywords: ReadonlySet<string>) => Object.keys(schema).every((keyword) => keywords.has(keyword));
  if (Array.isArray(anyOf)) {
    count.unions++;
    return hasOnly(CHOICE) && anyOf.every((option) => fits(option, depth, count));
  }
  if (type === "object") return hasOnly(OBJECT) && isClosed(schema, depth, count);
  if (type === "array") return hasOnly(LIST) && fits(items, depth + 1, count);
  if (Array.isArray(type)) count.unions++;
  const types = [type].flat();
  if (!hasOnly(SCALAR) || !types.every((one) => typeof one === "string" && SCALARS.has(one))) return false;
  if (values === undefined) return true;
  if (!Array.isArray(values) || values.length === 0 || new Set(values).size < values.length) return false;
  count.values += values.length;
  return values.every((value) => types.some((one) => isOf(one, value)));
}

function isOf(type: JsonValue | undefined, value: JsonValue): boolean {
  if (type === "null") return value === null;
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}

/** Every member is required, and no other is required or allowed. */
function isClosed(schema: JsonObject, depth: number, count: Counts): boolean {
  const { properties, required, additionalProperties } = schema;
  if (additionalProperties !== false || !isJsonObject(properties)) return false;
  const names = Object.keys(properties);
  count.members += names.length;
  const needed = new Set(Array.isArray(required) ? required : undefined);
  if (!Array.isArray(required) || needed.size !== names.length) return false;
  return names.every((name) => needed.has(name) && fits(properties[name], depth + 1, count));
}
