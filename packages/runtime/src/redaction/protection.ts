import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { MARK } from "@patchbay/schema";
import { type Redaction } from "@patchbay/protocol";
import { DefinitionError } from "../errors.ts";
import { withSteps } from "../schema/patterns.ts";
import { readRawSchema } from "../schema/raw.ts";
import { isStandardSchema, isZod3, isZod4, type Schema } from "../schema/schema.ts";
import {
  anyMemberStep,
  buildShape,
  type Dialect,
  itemShapes,
  itemStep,
  memberShapes,
  memberStep,
  type Part,
  rolesNamed,
  ROOT,
  type Shape,
  shapesIn,
  shapesOf,
  within,
} from "./shape.ts";
import { both } from "../schema/zod4.ts";
import { sees } from "./visible-to.ts";
import { jsonSchemaDialect } from "./json-schema-dialect.ts";
import { zod3Dialect, zod4Dialect } from "./zod-dialects.ts";

/** Removes an output schema's restricted fields from results. */
export interface Protection {
  /** All roles in the marks. */
  readonly roles: readonly string[];
  /** Restricted field names, `$` for the whole result. */
  readonly members: string[];
  /** Every marked path with the roles in its mark. Undefined if there are too many to send. */
  readonly redactions: Redaction[] | undefined;
  /** Removes what `role` may not see from a result that has passed the schema. */
  redact(result: JsonValue, role: string | undefined): Redacted;
  /** The paths that `role` may not see, such as `orders[].cost`. */
  hiddenFrom(role: string | undefined): string[];
}

/**
 * Reads an output schema's marks. Undefined without marks. Throws `DefinitionError` for marks that would have no effect.
 * `rolesFor`: the roles that a mark's list stands for.
 */
export function createProtection(
  schema: Schema,
  where: string,
  rolesFor?: (listed: readonly string[]) => readonly string[],
): Protection | undefined {
  const shape = shapeWith(MARK, schema, where);
  if (shape && rolesFor) for (const one of shapesIn(shape)) if (one.mark) one.mark = rolesFor(one.mark);
  return (
    shape && {
      roles: rolesNamed(shape),
      members: restrictedFields(shape),
      redactions: markedPaths(shape),
      redact: (result, role) => redact(shape, result, role),
      hiddenFrom: (role) => hiddenPaths(shape, role),
    }
  );
}

/** The labels on an output schema with one keyword. */
export interface Label {
  /** The paths that the schema labels. Undefined if there are too many to send. */
  readonly paths: readonly string[] | undefined;
  /** The labelled paths in a result that has passed the schema; `$` if there are too many. */
  labelled(result: JsonValue): string[];
}

/** Reads the labels with a keyword, as {@link createProtection} reads marks. */
export function createLabel(keyword: string, schema: Schema, where: string): Label | undefined {
  const shape = shapeWith(keyword, schema, where);
  return (
    shape && {
      paths: markedPaths(shape)?.map(({ path }) => path),
      labelled(result) {
        const { removed } = redact(shape, result, undefined);
        return removed.length < PATHS_KEPT ? removed : [ROOT];
      },
    }
  );
}

function shapeWith(keyword: string, schema: Schema, where: string): Shape | undefined {
  const [root, dialect] = readable(keyword, schema, where);
  return dialect && buildShape(root, dialect, where);
}

/** Schemas from other libraries cannot carry marks, so a mark in one is refused: it would have no effect. */
function readable(keyword: string, schema: Schema, where: string): [root: Part, dialect?: Dialect] {
  if (isZod4(schema)) return [schema, zod4Dialect(where, keyword)];
  if (isZod3(schema)) return [schema, zod3Dialect(keyword)];
  if (isStandardSchema(schema) && holdsMark(keyword, schema))
    throw new DefinitionError(
      `${where}: "${keyword}" works in schemas of zod and in raw JSON Schema. The "~standard" property makes this a schema of ${schema["~standard"].vendor}, so its marks would have no effect. Give the zod schema itself, or a JSON Schema without that property.`,
    );
  if (isStandardSchema(schema) || !isJsonObject(schema)) return [schema];
  const root = readRawSchema(schema, where);
  return [root, jsonSchemaDialect(root, where, keyword)];
}

function holdsMark(keyword: string, root: object): boolean {
  const seen = new Set<object>([root]);
  for (const part of seen) {
    if (Object.hasOwn(part, keyword)) return true;
    for (const [name, inner] of Object.entries(Object.getOwnPropertyDescriptors(part)))
      if (name !== "~standard" && typeof inner.value === "object" && inner.value !== null) seen.add(inner.value);
  }
  return false;
}

/** A result for one role, and what was removed. */
interface Redacted {
  value: JsonValue;
  /** Paths without values or record keys, each once, such as `orders[].cost`. */
  removed: string[];
}

/** A recursive schema's deep result could have any number of paths. */
const PATHS_KEPT = 100;

/**
 * Removes what `role` may not see. Properties and list items disappear, tuple items become null so that the others keep
 * their index, and a result marked as a whole becomes null.
 */
function redact(shape: Shape, result: JsonValue, role: string | undefined): Redacted {
  const removed = new Set<string>();
  const remove = (path: string) => {
    if (removed.size < PATHS_KEPT) removed.add(path);
  };
  /** Undefined if the value is removed. */
  const visit = (shapes: readonly Shape[], value: JsonValue, path: string): JsonValue | undefined => {
    const applicable = shapesOf(shapes, value);
    if (!applicable.every(({ mark }) => sees(mark, role))) {
      remove(path);
      return undefined;
    }
    if (Array.isArray(value)) return visitItems(applicable, value, path);
    return typeof value === "object" && value !== null ? visitMembers(applicable, value, path) : value;
  };
  const visitItems = (applicable: readonly Shape[], items: readonly JsonValue[], path: string) =>
    items.flatMap((item, index): JsonValue[] => {
      const isInTuple = applicable.some(({ tuple }) => index < tuple.length);
      const found = applicable.flatMap((shape) => itemShapes(shape, index));
      const kept = visit(found, item, itemStep(path, isInTuple ? index : undefined));
      if (kept !== undefined) return [kept];
      return isInTuple ? [null] : [];
    });
  const visitMembers = (applicable: readonly Shape[], value: JsonObject, path: string): JsonObject => {
    const kept = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
      const named = applicable.some(({ members }) => members.has(name));
      const found = applicable.flatMap((shape) => memberShapes(shape, name));
      const own = visit(found, member, named ? memberStep(path, name) : anyMemberStep(path));
      return own === undefined ? [] : [[name, own]];
    });
    return Object.fromEntries(kept);
  };

  const value = withSteps(() => visit([shape], result, ROOT)) ?? null;
  return { value, removed: [...removed] };
}

/** The paths in a shape that `role` may not see in any result. For a recursive shape, only its first level. */
function hiddenPaths(root: Shape, role: string | undefined): string[] {
  const paths = new Set<string>();
  const above = new Set<Shape>();
  const visit = (shape: Shape, path: string) => {
    if (above.has(shape)) return;
    if (!sees(shape.mark, role)) {
      paths.add(path);
      return;
    }
    above.add(shape);
    for (const [inner, at] of within(shape, path)) visit(inner, at);
    above.delete(shape);
  };
  visit(root, ROOT);
  return [...paths].sort();
}

/**
 * Names of properties that are restricted or contain a restricted item. Wherever the name occurs in a result,
 * everything below it counts as restricted. `$` if the mark is not below a named property.
 */
function restrictedFields(root: Shape): string[] {
  const names = new Set<string>();
  const seen = new Map<Shape, Set<string>>();
  const visit = (shape: Shape, name: string) => {
    const under = seen.get(shape) ?? new Set();
    if (under.has(name)) return;
    seen.set(shape, under.add(name));
    if (!sees(shape.mark, undefined)) {
      names.add(name);
      return;
    }
    for (const [inner, , member = name] of within(shape, ROOT)) visit(inner, member);
  };
  visit(root, ROOT);
  return [...names].sort();
}

/** A schema that uses a part often has many more paths than parts. */
const MOST_PATHS = 1_000;

/** Every marked path with the roles in its own marks. Undefined if there are too many to send. */
function markedPaths(root: Shape): Redaction[] | undefined {
  const marks = new Map<string, readonly string[]>();
  const above = new Set<Shape>();
  let visits = 0;
  const visit = (shape: Shape, path: string) => {
    if (above.has(shape) || ++visits > 10 * MOST_PATHS) return;
    if (shape.mark !== undefined) marks.set(path, both(shape.mark, marks.get(path)));
    above.add(shape);
    for (const [inner, at] of within(shape, path)) visit(inner, at);
    above.delete(shape);
  };
  visit(root, ROOT);
  if (visits > 10 * MOST_PATHS || marks.size > MOST_PATHS) return undefined;
  return [...marks].map(([path, roles]) => ({ path, roles: [...roles] })).sort((a, b) => (a.path < b.path ? -1 : 1));
}
