import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { fitsPattern } from "./pattern.ts";

/** Schemas looked at for one question: references can name more of them than could ever be visited. */
const MOST_STEPS = 500;
const NOTHING: JsonObject = {};

/** A schema with local references followed, `allOf` joined and the first usable alternative of `anyOf` or `oneOf` taken. */
export function resolveSchema(
  schema: JsonValue | undefined,
  root: JsonObject,
  left: { steps: number } = { steps: MOST_STEPS },
): JsonObject {
  if (!isJsonObject(schema) || left.steps-- <= 0) return NOTHING;
  if (typeof schema.$ref === "string")
    return { ...resolveSchema(pointed(root, schema.$ref), root, left), ...rest(schema) };
  if (Array.isArray(schema.allOf)) {
    const parts = schema.allOf.map((part) => resolveSchema(part, root, left));
    return [...parts, schema].reduce<JsonObject>(joined, {});
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(alternatives)) return schema;
  const options = alternatives.map((option) => resolveSchema(option, root, left));
  return { ...options.find((option) => option.type !== "null"), ...rest(schema) };
}

function rest(schema: JsonObject): JsonObject {
  const { $ref: _ref, anyOf: _any, oneOf: _one, ...others } = schema;
  return others;
}

function joined(left: JsonObject, right: JsonObject): JsonObject {
  const { allOf: _all, ...others } = right;
  const properties = { ...object(left.properties), ...object(right.properties) };
  const required = [...list(left.required), ...list(right.required)];
  return { ...left, ...others, properties, required };
}

const object = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : NOTHING);
export const list = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);

function pointed(root: JsonObject, reference: string): JsonValue | undefined {
  if (!reference.startsWith("#")) return undefined;
  let at: JsonValue | undefined = root;
  for (const part of reference.slice(1).split("/").filter(Boolean)) {
    const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a bare percent sign is the owner's own
  }
}

/** The type of a schema's values; the first that is not null where several are named. */
export function typeOf(schema: JsonObject): string | undefined {
  const named = Array.isArray(schema.type) ? schema.type.find((type) => type !== "null") : schema.type;
  if (typeof named === "string") return named;
  if (isJsonObject(schema.properties)) return "object";
  return schema.items === undefined ? undefined : "array";
}

/** True when a value meets a schema, as far as the offline model looks: what it cannot judge it lets pass. */
export function accepts(
  wanted: JsonValue | undefined,
  value: JsonValue,
  root: JsonObject,
  left: { steps: number } = { steps: MOST_STEPS },
): boolean {
  if (wanted === false) return false;
  if (!isJsonObject(wanted) || left.steps-- <= 0) return true;
  const alternatives = wanted.anyOf ?? wanted.oneOf;
  if (Array.isArray(alternatives) && !alternatives.some((one) => accepts(one, value, root, left))) return false;
  const schema = Array.isArray(alternatives) ? rest(wanted) : resolveSchema(wanted, root, left);
  if (schema.const !== undefined && JSON.stringify(schema.const) !== JSON.stringify(value)) return false;
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value)))
    return false;
  if (!typeFits(schema.type, value)) return false;
  if (typeof value === "string") return textFits(schema, value);
  if (typeof value === "number") return numberFits(schema, value);
  if (Array.isArray(value)) {
    const unique =
      schema.uniqueItems !== true || new Set(value.map((item) => JSON.stringify(item))).size === value.length;
    return (
      unique &&
      within(value.length, schema.minItems, schema.maxItems) &&
      value.every((item) => accepts(schema.items, item, root, left))
    );
  }
  if (!isJsonObject(value)) return true;
  const properties = object(schema.properties);
  return (
    list(schema.required).every((name) => typeof name === "string" && Object.hasOwn(value, name)) &&
    Object.entries(value).every(([name, member]) =>
      Object.hasOwn(properties, name)
        ? accepts(properties[name], member, root, left)
        : schema.additionalProperties !== false,
    )
  );
}

function typeFits(type: JsonValue | undefined, value: JsonValue): boolean {
  if (type === undefined) return true;
  if (Array.isArray(type)) return type.some((one) => typeFits(one, value));
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  return typeof value === type;
}

function within(size: number, least: JsonValue | undefined, most: JsonValue | undefined): boolean {
  return !(typeof least === "number" && size < least) && !(typeof most === "number" && size > most);
}

const FORMATS: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    email: /^[^\s@]+@[^\s@]+\.[^\s@.]+$/u,
    uri: /^[a-z][a-z0-9+.-]*:\S+$/iu,
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu,
    date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/u,
    time: /^\d\d:\d\d(?::\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?$/u,
    "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/u,
  }),
);

function textFits(schema: JsonObject, value: string): boolean {
  if (!within(Array.from(value).length, schema.minLength, schema.maxLength)) return false;
  const format = typeof schema.format === "string" ? FORMATS.get(schema.format) : undefined;
  if (format && !format.test(value)) return false;
  return typeof schema.pattern !== "string" || fitsPattern(schema.pattern, value);
}

function numberFits(schema: JsonObject, value: number): boolean {
  if (!Number.isFinite(value) || !within(value, schema.minimum, schema.maximum)) return false;
  if (typeof schema.exclusiveMinimum === "number" && value <= schema.exclusiveMinimum) return false;
  if (typeof schema.exclusiveMaximum === "number" && value >= schema.exclusiveMaximum) return false;
  if (typeof schema.multipleOf !== "number") return true;
  const times = value / schema.multipleOf;
  return Math.abs(times - Math.round(times)) < 1e-9;
}
