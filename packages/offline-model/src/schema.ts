import { createMatcher, followRef, isJsonObject, type JsonObject, type JsonValue, oncePer } from "@patchbay/protocol";

/**
 * The remaining budget for schemas, their keywords, names and values, and parts of the checked value. References and choices
 * can multiply a small schema into more of them than can be visited.
 */
export interface Steps {
  left: number;
}

const STEPS_OF_QUESTION = 10_000;
/** A question visits at most 500 schemas: each is a level of recursion. */
const STEPS_OF_SCHEMA = 20;
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
 * A schema with local references followed, `allOf` joined and the first usable alternative of `anyOf` or `oneOf` taken. Parts beyond
 * the budget are left out, so the resolved schema accepts more than the original.
 */
export function resolveSchema(
  schema: JsonValue | undefined,
  root: JsonObject,
  steps: Steps = oneQuestion(),
): JsonObject {
  if (!isJsonObject(schema) || !take(steps, STEPS_OF_SCHEMA)) return NOTHING;
  if (typeof schema.$ref === "string") {
    if (!take(steps, schema.$ref.length / CHARS_OF_STEP)) return NOTHING;
    return over(resolveSchema(followRef(root, schema.$ref), root, steps), schema, steps);
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

/** A referred schema with the keywords next to the reference. */
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

/** The type of a schema's values; the first that is not null where several are named. */
export function typeOf(schema: JsonObject): string | undefined {
  const named = Array.isArray(schema.type) ? schema.type.find((type) => type !== "null") : schema.type;
  if (typeof named === "string") return named;
  if (isJsonObject(schema.properties)) return "object";
  return schema.items === undefined ? undefined : "array";
}

/** Matchers keep what they read of a schema, such as a long `enum`. */
const matcherOf = oncePer((root: JsonObject) => createMatcher(root));

/** False if a value does not match a schema of `root`. What the offline model cannot judge within `steps`, it accepts. */
export function accepts(
  wanted: JsonValue | undefined,
  value: JsonValue,
  root: JsonObject,
  steps: Steps = oneQuestion(),
): boolean {
  if (wanted !== undefined && matcherOf(root)(wanted, value, steps) === false) return false;
  // zod and other libraries reject integers that a double cannot represent exactly.
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== "string") return true;
  const { format } = resolveSchema(wanted, root, steps);
  return (typeof format === "string" ? FORMATS.get(format)?.test(value) : undefined) ?? true;
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
