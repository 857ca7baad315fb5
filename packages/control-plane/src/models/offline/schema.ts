import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { fitsPattern } from "./pattern.ts";

/**
 * What may still be looked at: schemas, their keywords, names and values, and parts of the value that is judged. References and
 * choices can name more of them than could ever be visited.
 */
export interface Steps {
  left: number;
}

const STEPS_OF_QUESTION = 5_000;
/** A question visits no more than 500 schemas: each is a level of recursion. */
const STEPS_OF_SCHEMA = 10;
const CHARS_OF_STEP = 64;
const NOTHING: JsonObject = {};

const oneQuestion = (): Steps => ({ left: STEPS_OF_QUESTION });

/** One of many questions: its steps are taken from those of all. */
export function asked<T>(all: Steps, question: (steps: Steps) => T): T {
  const given = Math.max(0, Math.min(STEPS_OF_QUESTION, all.left));
  const steps = { left: given };
  const answer = question(steps);
  all.left -= given - Math.max(0, steps.left);
  return answer;
}

/** False once there are too few steps left. */
function take(steps: Steps, count: number): boolean {
  steps.left -= count;
  return steps.left >= 0;
}

/**
 * A schema with local references followed, `allOf` joined and the first usable alternative of `anyOf` or `oneOf` taken. What there
 * are no steps for is left out: such a schema takes more than the owner's.
 */
export function resolveSchema(
  schema: JsonValue | undefined,
  root: JsonObject,
  steps: Steps = oneQuestion(),
): JsonObject {
  if (!isJsonObject(schema) || !take(steps, STEPS_OF_SCHEMA)) return NOTHING;
  if (typeof schema.$ref === "string") {
    if (!take(steps, schema.$ref.length / CHARS_OF_STEP)) return NOTHING;
    return over(resolveSchema(pointed(root, schema.$ref), root, steps), schema, steps);
  }
  if (Array.isArray(schema.allOf)) {
    if (!take(steps, sizeOf(schema))) return NOTHING;
    const parts = schema.allOf.map((part) => resolveSchema(part, root, steps));
    return joined([...parts.filter((part) => steps.left > 0 && take(steps, sizeOf(part))), schema]);
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(alternatives)) return schema;
  for (const option of alternatives) {
    const resolved = resolveSchema(option, root, steps);
    if (resolved.type !== "null") return over(resolved, schema, steps);
  }
  return over(NOTHING, schema, steps);
}

/** A referred schema with the keywords that stand next to the reference. */
function over(referred: JsonObject, schema: JsonObject, steps: Steps): JsonObject {
  if (!take(steps, Object.keys(referred).length + Object.keys(schema).length)) return referred;
  const { $ref: _ref, anyOf: _any, oneOf: _one, ...others } = schema;
  return { ...referred, ...others };
}

function joined(parts: readonly JsonObject[]): JsonObject {
  const properties: [string, JsonValue][] = [];
  const required = new Set<JsonValue>();
  const whole: JsonObject = {};
  for (const { allOf: _all, properties: named, required: needed, ...others } of parts) {
    Object.assign(whole, others);
    properties.push(...Object.entries(object(named)));
    for (const name of list(needed)) required.add(name);
  }
  return { ...whole, properties: Object.fromEntries(properties), required: [...required] };
}

/** Steps that it takes to join a schema. */
function sizeOf(schema: JsonObject): number {
  return Object.keys(schema).length + Object.keys(object(schema.properties)).length + list(schema.required).length;
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
  steps: Steps = oneQuestion(),
): boolean {
  if (wanted === false) return false;
  if (!isJsonObject(wanted) || !take(steps, STEPS_OF_SCHEMA)) return true;
  const alternatives = wanted.anyOf ?? wanted.oneOf;
  if (Array.isArray(alternatives) && !alternatives.some((one) => accepts(one, value, root, steps))) return false;
  const schema = Array.isArray(alternatives) ? wanted : resolveSchema(wanted, root, steps);
  if (schema.const !== undefined && !isOneOf([schema.const], value, steps)) return false;
  if (Array.isArray(schema.enum) && !isOneOf(schema.enum, value, steps)) return false;
  if (!typeFits(schema.type, value)) return false;
  if (typeof value === "string") return !take(steps, value.length / CHARS_OF_STEP) || textFits(schema, value);
  if (typeof value === "number") return numberFits(schema, value);
  if (Array.isArray(value)) {
    if (!within(value.length, schema.minItems, schema.maxItems)) return false;
    if (!take(steps, value.length)) return true;
    if (schema.uniqueItems === true && new Set(value.map((item) => textOf(item, steps))).size < value.length)
      return false;
    return value.every((item) => accepts(schema.items, item, root, steps));
  }
  if (!isJsonObject(value)) return true;
  const properties = object(schema.properties);
  const members = Object.entries(value);
  const needed = list(schema.required);
  if (!take(steps, members.length + needed.length)) return true;
  return (
    needed.every((name) => typeof name === "string" && Object.hasOwn(value, name)) &&
    members.every(([name, member]) =>
      Object.hasOwn(properties, name)
        ? accepts(properties[name], member, root, steps)
        : schema.additionalProperties !== false,
    )
  );
}

function isOneOf(values: readonly JsonValue[], value: JsonValue, steps: Steps): boolean {
  if (!take(steps, values.length)) return true;
  if (typeof value !== "object" || value === null) return values.includes(value);
  const text = textOf(value, steps);
  return values.some((one) => steps.left < 0 || (typeof one === "object" && textOf(one, steps) === text));
}

function textOf(value: JsonValue, steps: Steps): string {
  const text = JSON.stringify(value);
  take(steps, text.length / CHARS_OF_STEP);
  return text;
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
