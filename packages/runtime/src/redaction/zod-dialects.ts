import { MARK } from "@patchbay/schema";
import { DefinitionError } from "../errors.ts";
import { innerOfLazy, readPart } from "../schema/parts.ts";
import type { Zod4Schema } from "../schema/schema.ts";
import { both, metadataOf } from "../schema/zod4.ts";
import type { Dialect, Kind, Part, Shape } from "./shape.ts";
import { refuseMisspelt } from "./visible-to.ts";

/** Reads zod 4 and zod mini schemas for the marks with a keyword. */
export const zod4Dialect = (where: string, keyword: string): Dialect => ({
  markOf(part) {
    const metadata = readMetadata(part, where);
    refuseMisspelt(Object.keys(metadata), where);
    const [own, meta] = [zod4Internals(part).def[keyword], metadata[keyword]];
    if (keyword !== MARK) return own ?? meta;
    // A mark in the metadata that is not a list fails later, in checkMark().
    return Array.isArray(own) && Array.isArray(meta) ? both(own as string[], meta) : (meta ?? own);
  },
  describe,
  *within(part) {
    const inner = innerOfLazy(part);
    if (inner !== undefined) yield inner;
    yield* zod4SchemasIn(zod4Internals(part).def);
  },
});

/** Reads zod 3 schemas for the marks with a keyword. */
export const zod3Dialect = (keyword: string): Dialect => ({
  markOf: (part) => zod3Definition(part)[keyword],
  describe,
  *within(part) {
    const definition = zod3Definition(part);
    yield* zod3SchemasIn(definition.shape?.());
    yield* zod3SchemasIn(innerOfLazy(part));
    for (const value of Object.values(definition)) yield* zod3SchemasIn(value);
  },
});

/** Types whose output has only this JSON type. Other types may output any value. */
const KINDS: Record<string, Kind> = {
  string: "string",
  number: "number",
  boolean: "boolean",
  null: "null",
  object: "object",
  record: "object",
  array: "array",
  tuple: "array",
};

function describe(schema: Part, shape: Shape, shapeOf: (part: Part) => Shape): void {
  const { kind, members, items, others, options, all, values, output } = readPart(schema)!;
  const further = others === undefined ? [] : [others];
  if (KINDS[kind] !== undefined) shape.kinds = [KINDS[kind]];
  switch (kind) {
    case "object":
      for (const [name, member] of members) shape.members.set(name, shapeOf(member));
      shape.others.push(...further.map(shapeOf));
      break;
    case "record":
      shape.others.push(...further.map(shapeOf));
      break;
    case "array":
    case "tuple":
      shape.tuple.push(...items.map(shapeOf));
      shape.items.push(...further.map(shapeOf));
      break;
    case "union":
      shape.branches.push(...options.map(shapeOf));
      break;
    case "literal":
    case "enum":
      // A literal `undefined` is null or absent in JSON. A bigint is refused before.
      shape.values = values.map((value) => value ?? null);
      break;
    default:
      shape.also.push(...[...all, ...(output === undefined ? [] : [output])].map(shapeOf));
  }
}

function readMetadata(part: Part, where: string): Readonly<Record<string, unknown>> {
  try {
    return metadataOf(part as Zod4Schema);
  } catch (cause) {
    // A mark that cannot be read would have no effect.
    throw new DefinitionError(`${where}: ${(cause as Error).message}`, { cause });
  }
}

const zod4Internals = (part: Part) => (part as { _zod: { traits: Set<string>; def: Record<string, unknown> } })._zod;

const zod3Definition = (part: Part) => (part as { _def: Record<string, unknown> & { shape?: () => object } })._def;

/** Definition properties with data instead of schemas. Reading a default may compute it. */
const DATA = new Set(["defaultValue", "values", "entries"]);

function* zod4SchemasIn(value: unknown): Iterable<Part> {
  if (typeof value !== "object" || value === null) return;
  if ("_zod" in value) {
    const { traits, def } = zod4Internals(value);
    if (traits.has("$ZodType")) yield value;
    else yield* zod4SchemasIn(def); // a check may hold a schema
  } else if (Array.isArray(value)) {
    for (const item of value) yield* zod4SchemasIn(item);
  } else {
    for (const name of Object.keys(value))
      if (!DATA.has(name)) yield* zod4SchemasIn((value as Record<string, unknown>)[name]);
  }
}

function* zod3SchemasIn(value: unknown): Iterable<Part> {
  if (typeof value !== "object" || value === null) return;
  const isSchema = "_def" in value && "safeParse" in value;
  if (isSchema) yield value;
  else if (Array.isArray(value) || value instanceof Map) for (const item of value.values()) yield* zod3SchemasIn(item);
  else if (Object.getPrototypeOf(value) === Object.prototype)
    for (const item of Object.values(value)) yield* zod3SchemasIn(item);
}
