import type { JsonValue } from "@patchbay/kit";
import type { Matcher } from "../schema/patterns.ts";
import { DefinitionError } from "../errors.ts";
import { checkMark } from "./visible-to.ts";

/** One place in a result as an output schema from any library describes it: enough to find restricted fields. */
export interface Shape {
  /** The roles that may see the value. Undefined: all. */
  mark?: readonly string[];
  members: Map<string, Shape>;
  /** Properties by name pattern. */
  patterns: { pattern: Matcher; shape: Shape }[];
  /** Properties that match neither. */
  others: Shape[];
  /** Items by index. */
  tuple: Shape[];
  /** All items after the `tuple`. */
  items: Shape[];
  /** Further shapes for the same place: a wrapper's inner part, an intersection's parts, a reference's target. */
  also: Shape[];
  /** Branches. Those that the value can match apply. */
  branches: Shape[];
  /** The JSON types that the value can have. Undefined: any. */
  kinds?: readonly Kind[];
  /** The scalars that the value can be. Undefined: any. */
  values?: readonly unknown[];
}

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

export function emptyShape(): Shape {
  return { members: new Map(), patterns: [], others: [], tuple: [], items: [], also: [], branches: [] };
}

/** All shapes that apply to a value. Skips a branch only if the value cannot match it, so that no mark is missed. */
export function shapesOf(shapes: readonly Shape[], value: JsonValue): Shape[] {
  const all = new Set<Shape>();
  const enter = (shape: Shape) => {
    if (all.has(shape)) return;
    all.add(shape);
    shape.also.forEach(enter);
    for (const branch of shape.branches) if (canBe(branch, value)) enter(branch);
  };
  shapes.forEach(enter);
  return [...all];
}

/** A property's shapes: by name and pattern, else the shapes for unlisted properties. */
export function memberShapes(shape: Shape, name: string): Shape[] {
  const named = shape.members.get(name);
  const matched = shape.patterns.filter(({ pattern }) => pattern.test(name)).map(({ shape: own }) => own);
  const found = [...(named === undefined ? [] : [named]), ...matched];
  return found.length > 0 ? found : shape.others;
}

export function itemShapes(shape: Shape, index: number): Shape[] {
  const own = shape.tuple[index];
  return own === undefined ? shape.items : [own];
}

function canBe(shape: Shape, value: JsonValue): boolean {
  // Null matches every branch: that a restricted field is empty is information, too.
  if (value === null) return true;
  if (shape.kinds !== undefined && !shape.kinds.includes(kindOf(value))) return false;
  if (shape.values !== undefined && kindOf(value) !== "object" && kindOf(value) !== "array")
    return shape.values.includes(value);
  if (kindOf(value) !== "object") return true;
  // A property such as `type: "internal"` distinguishes branches.
  return [...shape.members].every(([name, { values }]) => {
    const member = Object.hasOwn(value as object, name) ? (value as Record<string, JsonValue>)[name] : undefined;
    return values === undefined || member === undefined || values.includes(member);
  });
}

function kindOf(value: JsonValue): Kind {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as Exclude<Kind, "null" | "array">);
}

/** Steps in a path such as `orders[].cost`. Record keys are data, so they appear as `*`. */
export const ROOT = "$";
const ANY_ITEM = "[]";

export function memberStep(path: string, name: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name)) return `${path === ROOT ? "" : path}[${JSON.stringify(name)}]`;
  return path === ROOT ? name : `${path}.${name}`;
}

export function anyMemberStep(path: string): string {
  return path === ROOT ? "*" : `${path}.*`;
}

export function itemStep(path: string, index: number | undefined): string {
  return `${path === ROOT ? "" : path}${index === undefined ? ANY_ITEM : `[${index}]`}`;
}

/** A schema, or a schema part, from any library. */
export type Part = object;

/** Adds one part's description to its shape. `shapeOf` returns an inner part's shape, also for recursive schemas. */
type Describe = (part: Part, shape: Shape, shapeOf: (part: Part) => Shape) => void;

/** Reads one library's schemas for redaction. */
export interface Dialect {
  /** A part's mark as the owner wrote it. Undefined without a mark. */
  markOf(part: Part): unknown;
  describe: Describe;
  /** All direct inner parts, including parts without a result value, where a mark would have no effect. */
  within(part: Part): Iterable<Part>;
}

/** More parts than any written schema has. A schema with more creates new parts without end. */
const PARTS = 10_000;

/**
 * A marked schema's shape. Undefined without marks. Throws `DefinitionError` for a mark that does not describe the
 * result, such as one before a transform, because it would have no effect.
 */
export function buildShape(root: Part, dialect: Dialect, where: string): Shape | undefined {
  const { marked, endless } = markedParts(root, dialect);
  if (marked.size === 0) return undefined;
  if (endless) throw new DefinitionError(`${where}: the schema is infinite, so its marks cannot be applied.`);

  const shapes = new Map<Part, Shape>();
  const shapeOf = (part: Part): Shape => {
    const known = shapes.get(part);
    if (known !== undefined) return known;
    const shape = emptyShape();
    shapes.set(part, shape);
    const mark = dialect.markOf(part);
    // A label has no roles: every reader receives the value as a labelled one.
    if (mark !== undefined) shape.mark = mark === true ? [] : checkMark(mark, `${where}: a mark`);
    const followed = new Set<Part>();
    dialect.describe(part, shape, (inner) => {
      followed.add(inner);
      return shapeOf(inner);
    });
    refuseLost(part, followed);
    return shape;
  };
  /** A part may be at several places, and only some describe the result. */
  const refuseLost = (part: Part, followed: ReadonlySet<Part>) => {
    const lost = new Set(unfollowed(part));
    for (const inner of lost) {
      const mark = marked.get(inner);
      if (mark !== undefined) throw lostMark(mark);
      for (const deeper of unfollowed(inner)) lost.add(deeper);
    }
    function* unfollowed(outer: Part) {
      for (const inner of dialect.within(outer)) if (!followed.has(inner)) yield inner;
    }
  };
  const lostMark = (mark: unknown) =>
    new DefinitionError(
      `${where}: ${mark === true ? "a label" : `the mark for ${JSON.stringify(mark)}`} is at a place that cannot be followed to the result: before a transform or a pipe, in a map or a set, or on the key of a record. Mark the output: ${mark === true ? "untrusted(schema.transform(...))" : "visibleTo(schema.transform(...), roles)"}, or .transform(...).pipe(schema with marks).`,
    );
  return shapeOf(root);
}

/** The shapes directly within a shape, with their paths. `name`: the property that the shape describes. */
export function* within(shape: Shape, path: string): Iterable<[inner: Shape, path: string, name?: string]> {
  for (const same of [...shape.also, ...shape.branches]) yield [same, path];
  for (const [name, member] of shape.members) yield [member, memberStep(path, name), name];
  for (const { shape: other } of shape.patterns) yield [other, anyMemberStep(path)];
  for (const other of shape.others) yield [other, anyMemberStep(path)];
  for (const [index, item] of shape.tuple.entries()) yield [item, itemStep(path, index)];
  for (const item of shape.items) yield [item, itemStep(path, undefined)];
}

/** A shape, and all shapes within it. */
export function shapesIn(root: Shape): Set<Shape> {
  const all = new Set([root]);
  for (const shape of all) for (const [inner] of within(shape, ROOT)) all.add(inner);
  return all;
}

/** All roles in a shape's marks. */
export const rolesNamed = (root: Shape): string[] => [...new Set([...shapesIn(root)].flatMap(({ mark = [] }) => mark))];

function markedParts(root: Part, dialect: Dialect): { marked: Map<Part, unknown>; endless: boolean } {
  const marked = new Map<Part, unknown>();
  const seen = new Set<Part>([root]);
  for (const part of seen) {
    const mark = dialect.markOf(part);
    if (mark !== undefined) marked.set(part, mark);
    if (seen.size <= PARTS) for (const inner of dialect.within(part)) seen.add(inner);
  }
  return { marked, endless: seen.size > PARTS };
}
