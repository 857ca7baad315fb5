import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import type { ModelFunction } from "../ports/model-provider.ts";
import { wireSchema } from "./wire-schema.ts";

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
function isClosed(
  { properties, required, additionalProperties }: JsonObject,
  depth: number,
  count: { members: number; unions: number; values: number },
): boolean {
  if (additionalProperties !== false || !isJsonObject(properties)) return false;
  const names = Object.keys(properties);
  count.members += names.length;
  const needed = new Set(Array.isArray(required) ? required : undefined);
  if (!Array.isArray(required) || needed.size !== names.length) return false;
  return names.every((name) => needed.has(name) && fits(properties[name], depth + 1, count));
}
