import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps, within } from "@patchbay/kit";
import { type FunctionManifest, rolesAllow } from "@patchbay/protocol";
import {
  marksIn,
  redactedFor,
  COMPARISON_STEPS,
  followRef,
  isSame,
  mapSchema,
  takeSchema,
  withoutMark,
} from "@patchbay/schema";

/**
 * A function's result schema for people and clients with one role. It omits what the role does not receive, including
 * its name. Undefined if the role may not call the function, without an output schema, and if the schema cannot be cut:
 * it lacks an earlier runtime's marks, a choice or a reference may depend on the cut part, or it needs more than the
 * `steps` for all listed functions.
 */
export function outputSchemaFor(
  { roles, outputSchema, redactions, restrictedFields }: FunctionManifest,
  role: string | undefined,
  steps: Steps = { left: COMPARISON_STEPS },
): JsonObject | undefined {
  if (outputSchema === undefined || !rolesAllow(roles, role)) return undefined;
  const isRestricted = (redactions?.length ?? 0) > 0 || (restrictedFields?.length ?? 0) > 0;
  const cutFor = (own: Steps): JsonObject | undefined =>
    isRestricted && marksIn(outputSchema, own).length === 0 ? undefined : cutSchema(outputSchema, role, own);
  return within(steps, steps.left, cutFor, () => undefined);
}

function cutSchema(schema: JsonObject, role: string | undefined, steps: Steps): JsonObject | undefined {
  const whole = mapSchema(schema, withoutMark, steps);
  const redacted = redactedFor(schema, role, steps);
  if (isSame(redacted, whole, { whole: true, steps })) return whole;
  let isCuttable = true;
  const cutNames = (part: JsonObject): JsonObject => {
    if ("hidden" in part) isCuttable = false;
    takeSchema(steps, part);
    return withoutNames(part);
  };
  const cut = withoutUnused(mapSchema(redacted, cutNames, steps), steps);
  return isCuttable && refsIn(cut, steps).every((ref) => followRef(cut, ref) !== undefined) ? cut : undefined;
}

/** Keywords that can name a removed member outside `properties`. Without them the schema accepts more, never less. */
const NAMING = [
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "propertyNames",
  "if",
  "then",
  "else",
  "not",
  "const",
  "enum",
];

function withoutNames(schema: JsonObject): JsonObject {
  const { properties, required, ...rest } = schema;
  const named = isJsonObject(properties) ? Object.entries(properties).filter(([, member]) => member !== false) : [];
  const names = new Set(named.map(([name]) => name));
  const isObject = (value: JsonValue | undefined) =>
    Array.isArray(value) ? value.some((member) => typeof member === "object" && member !== null) : isJsonObject(value);
  const kept = Object.entries(rest).filter(
    ([keyword, value]) =>
      !NAMING.includes(keyword) || ((keyword === "const" || keyword === "enum") && !isObject(value)),
  );
  return {
    ...Object.fromEntries(kept),
    ...(properties !== undefined && { properties: Object.fromEntries(named) }),
    ...(Array.isArray(required) && { required: required.filter((name) => names.has(name as string)) }),
  };
}

const DEFINITIONS = ["$defs", "definitions"];

/** Removes unreferenced definitions: they may describe the cut part. */
function withoutUnused(schema: JsonObject, steps: Steps): JsonObject {
  const used = new Set<string>();
  const visit = (part: JsonValue) => {
    for (const ref of refsIn(part, steps)) {
      if (used.has(ref)) continue;
      used.add(ref);
      const target = followRef(schema, ref);
      if (target !== undefined) visit(target);
    }
  };
  visit(Object.fromEntries(Object.entries(schema).filter(([keyword]) => !DEFINITIONS.includes(keyword))));
  const isUsed = (pointer: string): boolean => {
    takeSteps(steps, used.size);
    return [...used].some((ref) => ref === pointer || ref.startsWith(`${pointer}/`));
  };
  const kept = Object.entries(schema).flatMap(([keyword, value]): [string, JsonValue][] => {
    if (!DEFINITIONS.includes(keyword) || !isJsonObject(value)) return [[keyword, value]];
    const members = Object.entries(value).filter(([name]) => isUsed(`#/${keyword}/${escaped(name)}`));
    return members.length === 0 ? [] : [[keyword, Object.fromEntries(members)]];
  });
  return Object.fromEntries(kept);
}

/** A name as a JSON Pointer step. */
const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

const STEPS_OF_MEMBER = 5;

/** Every `$ref` in a schema part. */
function refsIn(part: JsonValue, steps: Steps): string[] {
  if (Array.isArray(part)) {
    takeSteps(steps, STEPS_OF_MEMBER * part.length);
    return part.flatMap((item) => refsIn(item, steps));
  }
  if (!isJsonObject(part)) return [];
  const entries = Object.entries(part);
  takeSteps(steps, STEPS_OF_MEMBER * (1 + entries.length));
  return entries.flatMap(([name, value]) =>
    name === "$ref" && typeof value === "string" ? [value] : refsIn(value, steps),
  );
}
