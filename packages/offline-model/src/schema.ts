import { createMatcher, followRef } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue, oncePer, type Steps } from "@patchbay/kit";

/** For schemas, keywords and checked values: references and choices multiply a small schema without end. */
const STEPS = 10_000;
const STEPS_PER_SCHEMA = 20;

/**
 * Follows local references, and takes the first alternative in `anyOf` or `oneOf` that is not null. Skips what is beyond the
 * budget, so that the resolved schema accepts more than the original.
 */
export function resolveSchema(
  schema: JsonValue | undefined,
  root: JsonObject,
  steps: Steps = { left: STEPS },
): JsonObject {
  if (!isJsonObject(schema) || (steps.left -= STEPS_PER_SCHEMA) < 0) return {};
  const { $ref, anyOf, oneOf, ...own } = schema;
  if (typeof $ref === "string") return { ...resolveSchema(followRef(root, $ref), root, steps), ...own };
  for (const option of list(anyOf ?? oneOf)) {
    const resolved = resolveSchema(option, root, steps);
    if (resolved.type !== "null") return { ...resolved, ...own };
  }
  return schema;
}

export const list = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);

/** The type that a resolved schema describes; of several the first that is not null. */
export function typeOf(schema: JsonObject): string | undefined {
  const named = Array.isArray(schema.type) ? schema.type.find((type) => type !== "null") : schema.type;
  if (typeof named === "string") return named;
  if (isJsonObject(schema.properties)) return "object";
  return schema.items === undefined ? undefined : "array";
}

/** Matchers cache long keywords such as `enum`. */
const matcherOf = oncePer((root: JsonObject) => createMatcher(root));

/** False if a value does not match a schema within `root`. Accepts what it cannot decide within `steps`. */
export function accepts(
  schema: JsonValue | undefined,
  value: JsonValue,
  root: JsonObject,
  steps: Steps = { left: STEPS },
): boolean {
  if (schema !== undefined && matcherOf(root)(schema, value, steps) === false) return false;
  // zod and other libraries reject integers that a double cannot represent exactly.
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== "string") return true;
  const { format } = resolveSchema(schema, root, steps);
  return (typeof format === "string" ? FORMATS.get(format)?.test(value) : undefined) ?? true;
}

/** The matcher ignores `format`, but functions may check it. */
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
