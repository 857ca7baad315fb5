import { followRef, mapSchema } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue, oncePer } from "@patchbay/kit";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";

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

function simplify({ $schema: _schema, propertyNames: _names, const: value, ...rest }: JsonObject): JsonObject {
  return value === undefined ? rest : { ...rest, enum: [value] };
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

function requiredOf(schema: JsonObject): string[] {
  return Array.isArray(schema["required"]) ? schema["required"].filter((name) => typeof name === "string") : [];
}

/**
 * What both OpenAI and Claude accept in a strict schema. Each supports keywords that the other lacks, and refuses the
 * whole request for a keyword that it lacks: https://developers.openai.com/api/docs/guides/structured-outputs,
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs (2026-11-22).
 */
const ANNOTATIONS = ["title", "description"];
const CHOICE = new Set(["anyOf", ...ANNOTATIONS]);
const OBJECT = new Set(["type", "properties", "required", "additionalProperties", ...ANNOTATIONS]);
const LIST = new Set(["type", "items", ...ANNOTATIONS]);
const SCALAR = new Set(["type", "enum", ...ANNOTATIONS]);
const SCALARS = new Set(["string", "number", "integer", "boolean", "null"]);
const MOST = { members: 100, unions: 16, values: 250, depth: 5, chars: 15_000 };

/**
 * True if providers can be asked to write only arguments that meet the schema. Other arguments are corrected
 * afterwards.
 */
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
