import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { type FunctionManifest, rolesAllow } from "./manifest.ts";
import { marksIn, redactedFor } from "./schema-redaction.ts";
import { followRef, mapSchema, withoutMark } from "./subschemas.ts";

/**
 * The schema of a function's results for people and clients of one role. What the role does not receive is not in it, not even its
 * name. Undefined if the role may not call the function, without an output schema, and if the schema cannot be cut: marks of
 * earlier runtimes are not in it, and a choice or a reference may depend on what is cut.
 */
export function outputSchemaFor(
  { roles, outputSchema, redactions, restrictedFields }: FunctionManifest,
  role: string | undefined,
): JsonObject | undefined {
  if (outputSchema === undefined || !rolesAllow(roles, role)) return undefined;
  const isRestricted = (redactions?.length ?? 0) > 0 || (restrictedFields?.length ?? 0) > 0;
  if (isRestricted && marksIn(outputSchema).length === 0) return undefined;
  const whole = mapSchema(outputSchema, withoutMark);
  const redacted = redactedFor(outputSchema, role);
  if (canonicalJson(redacted) === canonicalJson(whole)) return whole;
  let isCuttable = true;
  const cut = withoutUnused(
    mapSchema(redacted, (one) => {
      if ("hidden" in one) isCuttable = false;
      return withoutNames(one);
    }),
  );
  return isCuttable && refsIn(cut).every((ref) => followRef(cut, ref) !== undefined) ? cut : undefined;
}

/** Keywords that can name a removed member outside of `properties`. Without them the schema accepts more, never less. */
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
    Array.isArray(value) ? value.some((one) => typeof one === "object" && one !== null) : isJsonObject(value);
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

/** Removes the definitions that nothing refers to any more: they may describe what was cut. */
function withoutUnused(schema: JsonObject): JsonObject {
  const used = new Set<string>();
  const visit = (part: JsonValue) => {
    for (const ref of refsIn(part)) {
      if (used.has(ref)) continue;
      used.add(ref);
      const target = followRef(schema, ref);
      if (target !== undefined) visit(target);
    }
  };
  visit(Object.fromEntries(Object.entries(schema).filter(([keyword]) => !DEFINITIONS.includes(keyword))));
  const isUsed = (pointer: string) => [...used].some((ref) => ref === pointer || ref.startsWith(`${pointer}/`));
  const kept = Object.entries(schema).flatMap(([keyword, value]): [string, JsonValue][] => {
    if (!DEFINITIONS.includes(keyword) || !isJsonObject(value)) return [[keyword, value]];
    const members = Object.entries(value).filter(([name]) => isUsed(`#/${keyword}/${escaped(name)}`));
    return members.length === 0 ? [] : [[keyword, Object.fromEntries(members)]];
  });
  return Object.fromEntries(kept);
}

/** A name as a step of a JSON Pointer. */
const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Every `$ref` in a part of a schema. */
function refsIn(part: JsonValue): string[] {
  if (Array.isArray(part)) return part.flatMap(refsIn);
  if (!isJsonObject(part)) return [];
  return Object.entries(part).flatMap(([name, value]) =>
    name === "$ref" && typeof value === "string" ? [value] : refsIn(value),
  );
}
