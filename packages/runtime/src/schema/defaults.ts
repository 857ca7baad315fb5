import { followRef } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";

/** A property that a value does not have and its schema has a default for. */
export interface LeftOut {
  /** Steps from the value's root to `object`, which lacks the property. */
  path: readonly (string | number)[];
  object: JsonObject;
  name: string;
  default: JsonValue;
  /** The property's schema, the same for every list item. */
  schema: JsonValue;
}

/** A copy of a value, with every absent property's default that `accepts` allows, at every depth. */
export function withDefaults(root: JsonObject, value: JsonValue, accepts: (missing: LeftOut) => boolean): JsonValue {
  const filled = structuredClone(value);
  for (const missing of leftOut(root, filled)) if (accepts(missing)) add(missing);
  return filled;
}

/**
 * A copy of a valid value with defaults for its absent properties. Adds a default only if the value stays valid,
 * because schemas often have invalid ones, such as null for a string. `faultsOf` returns the JSON Pointers to a value's
 * faults. It is called at most a few times for each default in the schema, however many items lack the property.
 */
export function withFittingDefaults(
  root: JsonObject,
  value: JsonValue,
  faultsOf: (value: JsonValue) => readonly string[],
): JsonValue {
  const filled = structuredClone(value);
  const all = leftOut(root, filled);
  if (all.length === 0) return filled;
  const check = () => placesOf(faultsOf(filled));
  all.forEach(add);
  const faults = check();
  if (faults.at.size === 0) return filled;
  // Usually a default is invalid by itself, and the value is valid without it.
  all.filter((missing) => faults.above.has(pointerTo([...missing.path, missing.name]))).forEach(remove);
  if (check().at.size === 0) return filled;

  all.forEach(remove);
  for (const group of Map.groupBy(all, ({ schema }) => schema).values()) {
    group.forEach(add);
    for (const isCause of [atFault, nearFault, () => true]) {
      const found = check();
      if (found.at.size === 0) break;
      group.filter((added) => isCause(added, found)).forEach(remove);
    }
  }
  return filled;
}

/** A value's faults: `at` has their pointers, `above` has these and all enclosing pointers. */
interface Faults {
  at: ReadonlySet<string>;
  above: ReadonlySet<string>;
}

function placesOf(pointers: readonly string[]): Faults {
  return { at: new Set(pointers), above: new Set(pointers.flatMap(around)) };
}

/** True if the fault is in the object, such as one property too many, or in the added property. */
function atFault({ path, name }: LeftOut, { at, above }: Faults): boolean {
  return at.has(pointerTo(path)) || above.has(pointerTo([...path, name]));
}

/** True if the fault is in the object or around it: a choice, a condition or `not` may depend on properties deep in its value. */
function nearFault({ path }: LeftOut, { at, above }: Faults): boolean {
  const pointer = pointerTo(path);
  return above.has(pointer) || around(pointer).some((near) => at.has(near));
}

/** A pointer and all outer ones: `/a/0`, `/a` and the root. */
function around(pointer: string): string[] {
  const all = [pointer];
  for (let end = pointer.indexOf("/"); end >= 0; end = pointer.indexOf("/", end + 1)) all.push(pointer.slice(0, end));
  return all;
}

function pointerTo(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const step of path)
    pointer += typeof step === "number" ? `/${step}` : `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  return pointer;
}

function add({ object, name, default: own }: LeftOut): void {
  object[name] = structuredClone(own);
}

function remove({ object, name }: LeftOut): void {
  delete object[name];
}

/**
 * A value's absent properties with a default, outer ones first. Ignores defaults in a choice's branches, because they
 * do not show which branch is meant.
 */
function leftOut(root: JsonObject, value: JsonValue): LeftOut[] {
  const found: LeftOut[] = [];
  const visit = (schemas: readonly JsonValue[], value: JsonValue, path: LeftOut["path"]): void => {
    if (typeof value !== "object" || value === null) return;
    // Shared by all parts, because parts with a common target would double the work at each level.
    const seen = new Set<JsonValue>();
    const parts = schemas.flatMap((schema) => partsOf(root, schema, seen));
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries())
        visit(
          parts.map((part) => schemaOfItem(part, i)),
          item,
          [...path, i],
        );
      return;
    }
    for (const [name, members] of membersOf(parts)) {
      if (Object.hasOwn(value, name)) visit(members, value[name]!, [...path, name]);
      else if (name !== "__proto__") {
        const schema = members.find((member) => defaultOf(root, member) !== undefined);
        if (schema !== undefined) found.push({ path, object: value, name, default: defaultOf(root, schema)!, schema });
      }
    }
  };
  visit([root], value, []);
  return found;
}

function membersOf(parts: readonly JsonObject[]): Map<string, JsonValue[]> {
  const members = new Map<string, JsonValue[]>();
  for (const { properties } of parts)
    for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {}))
      members.set(name, [...(members.get(name) ?? []), schema]);
  return members;
}

function defaultOf(root: JsonObject, member: JsonValue): JsonValue | undefined {
  return partsOf(root, member).find((part) => part["default"] !== undefined)?.["default"];
}

/** A schema with the schemas from `$ref` and `allOf` that apply to the same value. Enters circular references once. */
export function partsOf(
  root: JsonObject | undefined,
  schema: JsonValue | undefined,
  seen = new Set<JsonValue>(),
): JsonObject[] {
  if (!isJsonObject(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, allOf } = schema;
  const others = [
    ...(root !== undefined && typeof $ref === "string" ? [followRef(root, $ref)] : []),
    ...(Array.isArray(allOf) ? allOf : []),
  ];
  return [schema, ...others.flatMap((other) => partsOf(root, other, seen))];
}

function schemaOfItem({ prefixItems, items }: JsonObject, index: number): JsonValue {
  const own = Array.isArray(prefixItems) ? prefixItems[index] : undefined;
  return own ?? items ?? true;
}
