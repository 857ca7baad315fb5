import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import type { ModelFunction } from "../ports/model-provider.ts";
import { wireSchema } from "./wire-schema.ts";

/**
 * What both OpenAI and Claude take in a strict schema. Each has more that the other lacks, and refuses the whole request for a
 * keyword that it lacks: https://developers.openai.com/api/docs/guides/structured-outputs,
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs (2026-11-22).
 */
const KEYWORDS = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "anyOf",
  "title",
  "description",
]);
const SCALARS = new Set(["string", "number", "integer", "boolean", "null"]);
const MOST = { members: 100, unions: 16, values: 250, depth: 5, chars: 15_000 };

/** Whether providers can be asked to write nothing but arguments that meet the schema. Others are corrected afterwards. */
export function takesStrict(one: ModelFunction | undefined): boolean {
  if (!one) return false;
  const wire = wireSchema(one.inputSchema);
  if (JSON.stringify(wire).length > MOST.chars) return false;
  const count = { members: 0, unions: 0, values: 0 };
  return (
    fits(wire, 1, count) && (Object.keys(count) as (keyof typeof count)[]).every((name) => count[name] <= MOST[name])
  );
}

function fits(
  schema: JsonValue | undefined,
  depth: number,
  count: { members: number; unions: number; values: number },
): boolean {
  if (!isJsonObject(schema) || depth > MOST.depth || Object.keys(schema).some((keyword) => !KEYWORDS.has(keyword)))
    return false;
  const { type, anyOf, items, enum: values } = schema;
  if (Array.isArray(values)) {
    count.values += values.length;
    if (values.some((value) => typeof value === "object" && value !== null)) return false;
  }
  if (Array.isArray(anyOf)) {
    count.unions++;
    return type === undefined && anyOf.every((option) => fits(option, depth, count));
  }
  if (type === "object") return isClosed(schema, depth, count);
  if (type === "array") return fits(items, depth + 1, count);
  if (Array.isArray(type)) count.unions++;
  return [type].flat().every((one) => typeof one === "string" && SCALARS.has(one));
}

/** Every member is required and no other is allowed. */
function isClosed(
  { properties, required, additionalProperties }: JsonObject,
  depth: number,
  count: { members: number; unions: number; values: number },
): boolean {
  if (additionalProperties !== false || !isJsonObject(properties)) return false;
  const names = Object.keys(properties);
  count.members += names.length;
  const needed = new Set(Array.isArray(required) ? required : []);
  return names.every((name) => needed.has(name) && fits(properties[name], depth + 1, count));
}
