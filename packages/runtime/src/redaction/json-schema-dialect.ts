import { followRef, mapSchema, MARK, memberPath } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { DefinitionError } from "../errors.ts";
import { ownMatcher } from "../schema/patterns.ts";
import { checkRefs } from "../schema/raw.ts";
import { type Dialect, emptyShape, type Kind, type Part, type Shape } from "./shape.ts";

/** Reads raw JSON Schema for the marks with a keyword. Throws `DefinitionError` for references without a target. */
export function jsonSchemaDialect(root: JsonObject, where: string, keyword: string): Dialect {
  checkRefs(root, where);
  mapSchema(root, (schema, path) => {
    const mark = schema[keyword];
    if (mark !== undefined && !isMark(keyword, mark))
      throw new DefinitionError(
        `${where}: "${keyword}" must be ${keyword === MARK ? "a list of roles" : "true"} at "${memberPath(path)}".`,
      );
    return schema;
  });
  const referred = (schema: JsonObject) =>
    [schema["$ref"], schema["$dynamicRef"]].filter((ref) => typeof ref === "string").map((ref) => followRef(root, ref));
  return {
    // A property named like the keyword has a schema there, not a list.
    markOf(part) {
      const mark = (part as JsonObject)[keyword];
      return isMark(keyword, mark) ? mark : undefined;
    },
    describe: (part, shape, shapeOf) => describe(part as JsonObject, shape, shapeOf, referred(part as JsonObject)),
    within: (part) => Object.values(part as JsonObject).flatMap((value) => [...objectsIn(value)]),
  };
}

const isMark = (keyword: string, mark: unknown): boolean => (keyword === MARK ? Array.isArray(mark) : mark === true);

/** Skips `not` and `propertyNames`, which describe no result value: a mark in them is refused. */
function describe(
  schema: JsonObject,
  shape: Shape,
  shapeOf: (part: Part) => Shape,
  referred: readonly (JsonValue | undefined)[],
): void {
  const all = (...found: (JsonValue | undefined)[]) => found.flat().filter(isJsonObject).map(shapeOf);
  const named = (keyword: string) => Object.entries(isJsonObject(schema[keyword]) ? schema[keyword] : {});
  const { allOf, anyOf, oneOf, if: condition, then, else: otherwise, type, contains } = schema;

  for (const [name, member] of named("properties")) for (const own of all(member)) shape.members.set(name, own);
  for (const [pattern, member] of named("patternProperties"))
    for (const own of all(member)) shape.patterns.push({ pattern: ownMatcher(pattern), shape: own });
  shape.others.push(...all(schema["additionalProperties"], schema["unevaluatedProperties"]));
  shape.tuple.push(...tupleOf(schema["prefixItems"]).map((item) => shapeOf(isJsonObject(item) ? item : {})));
  shape.items.push(...all(schema["items"], schema["unevaluatedItems"]));
  const ofDependents = named("dependentSchemas").map(([, dependent]) => dependent);
  shape.also.push(...all(allOf, condition, then, otherwise, ...ofDependents, ...referred));
  shape.branches.push(...all(anyOf, oneOf));
  if (isJsonObject(contains)) shape.also.push({ ...emptyShape(), items: all(contains) });

  if (type !== undefined) shape.kinds = [type].flat().map((name) => (name === "integer" ? "number" : (name as Kind)));
  const values = schema["const"] === undefined ? schema["enum"] : [schema["const"]];
  if (Array.isArray(values) && values.every((value) => typeof value !== "object" || value === null))
    shape.values = values;
  // Visits definitions without a reference, so that a mark in one is not refused.
  all(...[...named("$defs"), ...named("definitions")].map(([, definition]) => definition));
}

function tupleOf(prefixItems: JsonValue | undefined): JsonValue[] {
  return Array.isArray(prefixItems) ? prefixItems : [];
}

function* objectsIn(value: JsonValue): Iterable<JsonObject> {
  if (isJsonObject(value)) yield value;
  else if (Array.isArray(value)) for (const item of value) yield* objectsIn(item);
}
