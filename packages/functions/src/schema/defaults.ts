import { followRef, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";

/** A member that a value leaves out and its schema has a default for. */
export interface LeftOut {
  /** Steps from the root of the value to `object`, which leaves the member out. */
  path: readonly (string | number)[];
  object: JsonObject;
  name: string;
  default: JsonValue;
  /** The schema of the member: one for every row of a list. */
  schema: JsonValue;
}

/** A copy of a value with the defaults that `accepts` takes, at every depth, for members that the value leaves out. */
export function withDefaults(root: JsonObject, value: JsonValue, accepts: (one: LeftOut) => boolean): JsonValue {
  const filled = structuredClone(value);
  for (const one of leftOut(root, filled)) if (accepts(one)) add(one);
  return filled;
}

/**
 * A copy of a valid value with the defaults of the members that it leaves out. A default is added as it is written, and only where
 * the value stays valid: null for a text is common in schemas that people write. `faultsOf` gives the JSON Pointers of the faults of
 * a value. It is called at most a few times for each default in the schema, however many rows of the value leave the member out.
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
  // Mostly a default is at fault by itself, and the rest fits without it.
  all.filter((one) => faults.above.has(pointerTo([...one.path, one.name]))).forEach(remove);
  if (check().at.size === 0) return filled;

  all.forEach(remove);
  for (const group of Map.groupBy(all, ({ schema }) => schema).values()) {
    group.forEach(add);
    for (const isCause of [atFault, nearFault, () => true]) {
      const found = check();
      if (found.at.size === 0) break;
      group.filter((one) => isCause(one, found)).forEach(remove);
    }
  }
  return filled;
}

/** Faults of a value: `at` are their pointers, `above` those and the pointers of all that is around them. */
interface Faults {
  at: ReadonlySet<string>;
  above: ReadonlySet<string>;
}

function placesOf(pointers: readonly string[]): Faults {
  return { at: new Set(pointers), above: new Set(pointers.flatMap(around)) };
}

/** True when the fault is in the object, such as one member too many, or in the added member. */
function atFault({ path, name }: LeftOut, { at, above }: Faults): boolean {
  return at.has(pointerTo(path)) || above.has(pointerTo([...path, name]));
}

/** True when the fault is in the object or around it: a choice, a condition or `not` may look at members deep in its value. */
function nearFault({ path }: LeftOut, { at, above }: Faults): boolean {
  const pointer = pointerTo(path);
  return above.has(pointer) || around(pointer).some((one) => at.has(one));
}

/** A pointer and those of all that is around its place: `/a/0` is within `/a` and the root. */
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
 * The members of a value that are left out and have a default, outer ones first. Branches of a choice have none, because a default
 * is no sign that its branch is meant.
 */
function leftOut(root: JsonObject, value: JsonValue): LeftOut[] {
  const found: LeftOut[] = [];
  const visit = (schemas: readonly JsonValue[], value: JsonValue, path: LeftOut["path"]): void => {
    if (typeof value !== "object" || value === null) return;
    // One set for all: parts that lead to one schema would double the work at each level.
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

/** A schema with all that holds together with it. A reference that leads back to itself is entered once. */
function partsOf(root: JsonObject, schema: JsonValue, seen = new Set<JsonValue>()): JsonObject[] {
  if (!isJsonObject(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, allOf } = schema;
  const others = [
    ...(typeof $ref === "string" ? [followRef(root, $ref) ?? true] : []),
    ...(Array.isArray(allOf) ? allOf : []),
  ];
  return [schema, ...others.flatMap((other) => partsOf(root, other, seen))];
}

function schemaOfItem({ prefixItems, items }: JsonObject, index: number): JsonValue {
  const own = Array.isArray(prefixItems) ? prefixItems[index] : undefined;
  return own ?? items ?? true;
}
