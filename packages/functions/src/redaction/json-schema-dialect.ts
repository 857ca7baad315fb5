import { followRef, isJsonObject, mapSchema, memberPath, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { DefinitionError } from "../errors.ts";
import type { Dialect, Part } from "./builder.ts";
import { emptyShape, type Kind, type Shape } from "./shape.ts";
import { MARK } from "./mark.ts";

/** How redaction reads raw JSON Schema. Throws DefinitionError for references that cannot be followed. */
export function jsonSchemaDialect(root: JsonObject, where: string): Dialect {
  mapSchema(root, (schema, path) => {
    const fault = faultOf(schema, root);
    if (fault !== undefined) throw new DefinitionError(`${where}: ${fault} at "${memberPath(path)}".`);
    return schema;
  });
  const referred = (schema: JsonObject) =>
    [schema["$ref"], schema["$dynamicRef"]].filter((ref) => typeof ref === "string").map((ref) => followRef(root, ref));
  return {
    // A member that is named like the keyword has a schema there, and no list.
    markOf: (part) => (Array.isArray((part as JsonObject)[MARK]) ? (part as JsonObject)[MARK] : undefined),
    describe: (part, shape, shapeOf) => describe(part as JsonObject, shape, shapeOf, referred(part as JsonObject)),
    within: (part) => Object.values(part as JsonObject).flatMap((value) => [...objectsIn(value)]),
  };
}

function faultOf(schema: JsonObject, root: JsonObject): string | undefined {
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const ref = schema[keyword];
    if (typeof ref === "string" && followRef(root, ref) === undefined)
      return `${keyword} "${ref}" leads nowhere (only places of the same schema can be referred to, such as "#/$defs/Address")`;
  }
  if (schema[MARK] !== undefined && !Array.isArray(schema[MARK])) return `"${MARK}" must be a list of roles`;
  return undefined;
}

/** `not` describes no value, and neither does a name's schema: a mark there is found to lead nowhere. */
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
    for (const own of all(member)) shape.patterns.push({ pattern: new RegExp(pattern, "u"), shape: own });
  shape.others.push(...all(schema["additionalProperties"], schema["unevaluatedProperties"]));
  shape.tuple.push(...tupleOf(schema["prefixItems"]).map((item) => shapeOf(isJsonObject(item) ? item : {})));
  shape.items.push(...all(schema["items"], schema["unevaluatedItems"]));
  const ofDependents = named("dependentSchemas").map(([, dependent]) => dependent);
  shape.also.push(...all(allOf, condition, then, otherwise, ...ofDependents, ...referred));
  shape.branches.push(...all(anyOf, oneOf));
  if (isJsonObject(contains)) shape.also.push({ ...emptyShape(), items: all(contains) });

  if (type !== undefined) shape.kinds = [type].flat().map((one) => (one === "integer" ? "number" : (one as Kind)));
  const values = schema["const"] === undefined ? schema["enum"] : [schema["const"]];
  if (Array.isArray(values) && values.every((value) => typeof value !== "object" || value === null))
    shape.values = values;
  // A definition nothing refers to is no part of the result, and no mistake.
  all(...[...named("$defs"), ...named("definitions")].map(([, definition]) => definition));
}

function tupleOf(prefixItems: JsonValue | undefined): JsonValue[] {
  return Array.isArray(prefixItems) ? prefixItems : [];
}

function* objectsIn(value: JsonValue): Iterable<JsonObject> {
  if (isJsonObject(value)) yield value;
  else if (Array.isArray(value)) for (const item of value) yield* objectsIn(item);
}
