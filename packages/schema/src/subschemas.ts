import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps, UNLIMITED } from "@patchbay/kit";

const ONE = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const LIST = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const NAMED = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]);

const STEPS_OF_COPY = 15;
/** Objects with many members are hash tables, which are slower. */
const MANY_MEMBERS = 500;

/** Steps for copying or comparing object members or array items. */
const stepsOf = (count: number): number => count * (count > MANY_MEMBERS ? 25 : 5);

/**
 * Rebuilds a JSON Schema from the leaves up: `change` receives each schema object and its path. Enters only keywords
 * with schemas, so a property named `$ref` or a schema-like default value stays unchanged. Takes steps for what it
 * copies.
 */
export function mapSchema(
  root: JsonObject,
  change: (schema: JsonObject, path: readonly string[]) => JsonObject,
  steps?: Steps,
): JsonObject {
  const take = (count: number): void => steps && takeSteps(steps, count);
  const into = (value: JsonValue, path: readonly string[]): JsonValue =>
    isJsonObject(value) ? visit(value, path) : value;
  const visit = (schema: JsonObject, path: readonly string[]): JsonObject => {
    const entries = Object.entries(schema);
    take(STEPS_OF_COPY + path.length + stepsOf(entries.length));
    for (const entry of entries) {
      const [keyword, value] = entry;
      if (typeof value !== "object" || value === null) continue;
      const at = (step: string): string[] => [...path, keyword, step];
      if (Array.isArray(value)) {
        if (!LIST.has(keyword) && keyword !== "items") continue;
        take(stepsOf(value.length));
        entry[1] = value.map((item, i) => into(item, at(String(i))));
      } else if (NAMED.has(keyword)) {
        const members = Object.entries(value);
        take(stepsOf(members.length));
        entry[1] = Object.fromEntries(members.map(([name, member]) => [name, into(member, at(name))]));
      } else if (ONE.has(keyword)) entry[1] = visit(value, [...path, keyword]);
    }
    return change(Object.fromEntries(entries), path);
  };
  return visit(root, []);
}

const STEPS_OF_SCHEMA = 10;
const CHARACTERS_OF_STEP = 8;

function sizeOf(schema: JsonObject): number {
  const keywords = Object.keys(schema);
  let size = STEPS_OF_SCHEMA + stepsOf(keywords.length);
  for (const keyword of keywords) {
    const value = schema[keyword]!;
    if (typeof value === "string") size += keyword === "$ref" ? value.length : value.length / CHARACTERS_OF_STEP;
    else if (Array.isArray(value)) size += 2 * value.length;
    else if (isJsonObject(value)) size += 2 * Object.keys(value).length;
  }
  return Math.ceil(size);
}

/** Takes the steps for reading a schema object: its keywords, names and values, but not the schemas in it. */
export function takeSchema(steps: Steps, schema: JsonObject): void {
  if (steps === UNLIMITED) return;
  const sizes = (steps.sizes ??= new Map());
  let size = sizes.get(schema);
  if (size === undefined) sizes.set(schema, (size = sizeOf(schema)));
  takeSteps(steps, size);
}

/**
 * True for equal schemas without references. References in equal schemas may have different targets, unless the `whole` schemas are
 * compared. Without `steps` it takes none: it reads each value once.
 */
export function isSame(a: unknown, b: unknown, { whole = false, steps }: { whole?: boolean; steps?: Steps }): boolean {
  const same = (one: unknown, other: unknown): boolean => {
    if (one === other) return true;
    if (steps) takeSteps(steps);
    if (Array.isArray(one))
      return Array.isArray(other) && one.length === other.length && one.every((item, i) => same(item, other[i]));
    if (!isJsonObject(one) || !isJsonObject(other)) return false;
    const names = Object.keys(one);
    if (steps) takeSteps(steps, stepsOf(1 + names.length));
    if (names.length !== Object.keys(other).length) return false;
    if (!whole && names.some((name) => name === "$ref" || name === "$dynamicRef")) return false;
    return names.every((name) => Object.hasOwn(other, name) && same(one[name]!, other[name]!));
  };
  return same(a, b);
}

/** The schema that a local reference such as `#/$defs/Address` points to. Undefined if it does not exist. */
export function followRef(root: JsonObject, ref: string): JsonValue | undefined {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let target: JsonValue | undefined = root;
  for (let from = 2, to; from <= ref.length; from = to + 1) {
    to = ref.indexOf("/", from);
    if (to === -1) to = ref.length;
    const name = pointerName(ref.slice(from, to));
    if (Array.isArray(target)) target = target[Number(name)];
    else if (isJsonObject(target) && Object.hasOwn(target, name)) target = target[name];
    else return undefined;
  }
  return target;
}

/** The name that a JSON Pointer step in a URI stands for. */
export function pointerName(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A bare percent sign belongs to the name.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The value path that a place in a JSON Schema describes: `items.0.price` for `properties/items/items/properties/price`. */
export function memberPath(path: readonly (string | number)[]): string {
  const names: string[] = [];
  for (let i = 0; i < path.length; i++) {
    const keyword = String(path[i]);
    if (keyword === "items" || keyword === "additionalProperties") names.push("*");
    else if (NAMED.has(keyword) || LIST.has(keyword)) {
      const name = String(path[++i]);
      if (NAMED.has(keyword) || keyword === "prefixItems") names.push(name);
    }
  }
  return names.join(".");
}

const ANNOTATIONS = new Set([
  "$comment",
  "$schema",
  "default",
  "deprecated",
  "description",
  "examples",
  "id",
  "readOnly",
  "title",
  "writeOnly",
]);

/** The output schema keyword with the roles that receive a result part. */
export const MARK = "x-visible-to";

const isText = (keyword: string): boolean => ANNOTATIONS.has(keyword) || keyword.startsWith("x-");

/** The schema without keywords that do not affect validation: descriptions, examples, defaults, and names that begin with `x-`. */
export function withoutAnnotations(schema: JsonObject, steps?: Steps): JsonObject {
  return mapSchema(schema, (part) => without(part, isText), steps);
}

/** The same, with the marks on restricted fields. */
export function withoutTexts(schema: JsonObject, steps?: Steps): JsonObject {
  return mapSchema(schema, (part) => without(part, (keyword) => keyword !== MARK && isText(keyword)), steps);
}

function without(schema: JsonObject, isLeftOut: (keyword: string) => boolean): JsonObject {
  const keywords = Object.keys(schema);
  if (!keywords.some(isLeftOut)) return schema;
  return Object.fromEntries(
    keywords.filter((keyword) => !isLeftOut(keyword)).map((keyword) => [keyword, schema[keyword]!]),
  );
}

/** A schema object without its own mark. */
export function withoutMark(schema: JsonObject): JsonObject {
  const { [MARK]: _, ...rest } = schema;
  return rest;
}

/** The schema with an explicit `additionalProperties: true` in each object that lists properties and does not mention others. */
export function withOpenObjects(schema: JsonObject, steps?: Steps): JsonObject {
  const open = (part: JsonObject): JsonObject =>
    isJsonObject(part["properties"]) && part["additionalProperties"] === undefined
      ? { ...part, additionalProperties: true }
      : part;
  return mapSchema(schema, open, steps);
}
