import { DefinitionError } from "../errors.ts";
import { emptyShape, type Shape } from "./shape.ts";
import { checkMark } from "./visible-to.ts";

/** A schema or a part of one, as a library holds it. */
export type Part = object;

/** Fills in what one part of a schema says; `shapeOf` gives the shape of a part within, also of one that holds this very part. */
export type Describe = (part: Part, shape: Shape, shapeOf: (part: Part) => Shape) => void;

/** How redaction reads the schemas of one library. */
export interface Dialect {
  /** The mark of a part as it was written; undefined = none. */
  markOf(part: Part): unknown;
  describe: Describe;
  /** Every part directly within a part, also where nothing of a result stands: a mark there protects nothing. */
  within(part: Part): Iterable<Part>;
}

/** More parts than any schema is written with: only one that makes new parts for ever has them. */
const PARTS = 10_000;

/**
 * The shape of a schema that marks something; undefined when nothing is marked. Throws DefinitionError for a mark in a place that
 * does not lead to the result, such as before a transform: it would protect nothing.
 */
export function buildShape(root: Part, dialect: Dialect, where: string): Shape | undefined {
  const { marked, endless } = markedParts(root, dialect);
  if (marked.size === 0) return undefined;
  if (endless) throw new DefinitionError(`${where}: the schema has no end, so its marks cannot be followed.`);

  const shapes = new Map<Part, Shape>();
  const shapeOf = (part: Part): Shape => {
    const known = shapes.get(part);
    if (known !== undefined) return known;
    const shape = emptyShape();
    shapes.set(part, shape);
    const mark = dialect.markOf(part);
    if (mark !== undefined) shape.mark = checkMark(mark, `${where}: a mark`);
    const followed = new Set<Part>();
    dialect.describe(part, shape, (inner) => {
      followed.add(inner);
      return shapeOf(inner);
    });
    refuseLost(part, followed);
    return shape;
  };
  /** One part may stand at several places, of which only some lead to the result. */
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
      `${where}: the part that is marked for ${JSON.stringify(mark)} stands where it cannot be followed to the result: before a transform or a pipe, in a map or a set, or as the key of a record. Mark what comes out: visibleTo(schema.transform(...), roles), or .transform(...).pipe(schema with marks).`,
    );
  return shapeOf(root);
}

/** Every role that a shape names. */
export function rolesNamed(root: Shape): string[] {
  const roles = new Set<string>();
  const seen = new Set<Shape>();
  const waiting = [root];
  for (let shape = waiting.pop(); shape !== undefined; shape = waiting.pop()) {
    if (seen.has(shape)) continue;
    seen.add(shape);
    for (const role of shape.mark ?? []) roles.add(role);
    const { members, patterns, others, tuple, items, also, branches } = shape;
    waiting.push(...members.values(), ...patterns.map((one) => one.shape), ...others, ...tuple, ...items);
    waiting.push(...also, ...branches);
  }
  return [...roles];
}

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
