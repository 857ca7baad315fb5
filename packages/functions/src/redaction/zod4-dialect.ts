import { DefinitionError } from "../errors.ts";
import type { Zod4Schema } from "../schema/schema.ts";
import { metadataOf } from "../schema/zod4.ts";
import type { Dialect, Kind, Part, Shape } from "./shape.ts";
import { both, MARK, refuseMisspelt } from "./visible-to.ts";

interface Definition {
  type: string;
  shape?: Record<string, Part>;
  catchall?: Part;
  element?: Part;
  items?: Part[];
  rest?: Part | null;
  valueType?: Part;
  options?: Part[];
  left?: Part;
  right?: Part;
  innerType?: Part;
  out?: Part;
  values?: unknown[];
  entries?: Record<string, unknown>;
  [MARK]?: unknown;
}

/** Reads schemas of zod 4 and zod mini for redaction. */
export const zod4Dialect = (where: string): Dialect => ({
  markOf(part) {
    const metadata = readMetadata(part, where);
    refuseMisspelt(Object.keys(metadata), where);
    const [own, meta] = [definitionOf(part)[MARK], metadata[MARK]];
    // A mark in the metadata that is not a list fails later, in checkMark().
    return Array.isArray(own) && Array.isArray(meta) ? both(own as string[], meta) : (meta ?? own);
  },
  describe,
  *within(part) {
    const definition = definitionOf(part);
    if (definition.type === "lazy") yield innerOfLazy(part);
    yield* schemasIn(definition);
  },
});

/** Types whose output has only this JSON type. Other types may output any value. */
const KINDS: Record<string, Kind> = { string: "string", number: "number", boolean: "boolean", null: "null" };

function describe(part: Part, shape: Shape, shapeOf: (part: Part) => Shape): void {
  const definition = definitionOf(part);
  const { type, element, valueType, options, left, right, innerType, out, catchall, rest } = definition;
  const kind = KINDS[type];
  if (kind !== undefined) shape.kinds = [kind];
  switch (type) {
    case "object":
      shape.kinds = ["object"];
      for (const [name, member] of Object.entries(definition.shape ?? {})) shape.members.set(name, shapeOf(member));
      if (catchall) shape.others.push(shapeOf(catchall));
      break;
    case "record":
      shape.kinds = ["object"];
      if (valueType) shape.others.push(shapeOf(valueType));
      break;
    case "array":
      shape.kinds = ["array"];
      if (element) shape.items.push(shapeOf(element));
      break;
    case "tuple":
      shape.kinds = ["array"];
      shape.tuple.push(...(definition.items ?? []).map(shapeOf));
      if (rest) shape.items.push(shapeOf(rest));
      break;
    case "union":
      shape.branches.push(...(options ?? []).map(shapeOf));
      break;
    case "intersection":
      shape.also.push(...[left, right].filter((side) => side !== undefined).map(shapeOf));
      break;
    case "pipe":
      if (out) shape.also.push(shapeOf(out));
      break;
    case "lazy":
      shape.also.push(shapeOf(innerOfLazy(part)));
      break;
    case "literal":
      setValues(shape, definition.values ?? []);
      break;
    case "enum":
      setValues(shape, Object.values(definition.entries ?? {}));
      break;
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
    case "promise":
      if (innerType) shape.also.push(shapeOf(innerType));
  }
}

/** A literal `undefined` is null or absent in JSON. A bigint is refused before. */
function setValues(shape: Shape, values: unknown[]): void {
  shape.values = values.map((value) => value ?? null);
}

function readMetadata(part: Part, where: string): Readonly<Record<string, unknown>> {
  try {
    return metadataOf(part as Zod4Schema);
  } catch (cause) {
    // A mark that cannot be read would have no effect.
    throw new DefinitionError(`${where}: ${(cause as Error).message}`, { cause });
  }
}

function definitionOf(part: Part): Definition {
  return (part as unknown as { _zod: { def: Definition } })._zod.def;
}

function innerOfLazy(part: Part): Part {
  return (part as unknown as { _zod: { innerType: Part } })._zod.innerType;
}

/** Properties of a definition with data instead of schemas. Reading a default may compute it. */
const DATA = new Set(["defaultValue", "values", "entries"]);

function* schemasIn(value: unknown): Iterable<Part> {
  if (typeof value !== "object" || value === null) return;
  if ("_zod" in value) {
    const { traits, def } = (value as { _zod: { traits: Set<string>; def: object } })._zod;
    if (traits.has("$ZodType")) yield value;
    else yield* schemasIn(def); // a check may hold a schema
  } else if (Array.isArray(value)) {
    for (const item of value) yield* schemasIn(item);
  } else {
    for (const name of Object.keys(value))
      if (!DATA.has(name)) yield* schemasIn((value as Record<string, unknown>)[name]);
  }
}
