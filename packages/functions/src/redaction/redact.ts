import type { JsonObject, JsonValue, Redaction } from "@patchbay/protocol";
import { anyMemberStep, itemStep, memberStep, ROOT } from "./paths.ts";
import { itemShapes, memberShapes, shapesOf, type Shape } from "./shape.ts";
import { both, sees } from "./visible-to.ts";

/** A result as one role gets it, and the places that were taken out. */
export interface Redacted {
  value: JsonValue;
  /** Paths without values or keys of records, each once, such as `orders[].cost`. */
  removed: string[];
}

/** Deep results of a recursive schema could name more places than anybody reads. */
const PATHS_KEPT = 100;

/**
 * Takes out what `role` may not see. Members and items of a list go without a trace, an item of a tuple leaves null so that the
 * others keep their places, and a result that is marked as a whole becomes null.
 */
export function redact(shape: Shape, result: JsonValue, role: string | undefined): Redacted {
  const removed = new Set<string>();
  const remove = (path: string) => {
    if (removed.size < PATHS_KEPT) removed.add(path);
  };
  /** Undefined when nothing may stand here. */
  const visit = (shapes: readonly Shape[], value: JsonValue, path: string): JsonValue | undefined => {
    const said = shapesOf(shapes, value);
    if (!said.every(({ mark }) => sees(mark, role))) {
      remove(path);
      return undefined;
    }
    if (Array.isArray(value)) return visitItems(said, value, path);
    return typeof value === "object" && value !== null ? visitMembers(said, value, path) : value;
  };
  const visitItems = (said: readonly Shape[], items: readonly JsonValue[], path: string) =>
    items.flatMap((item, index): JsonValue[] => {
      const placed = said.some(({ tuple }) => index < tuple.length);
      const found = said.flatMap((shape) => itemShapes(shape, index));
      const kept = visit(found, item, itemStep(path, placed ? index : undefined));
      if (kept !== undefined) return [kept];
      return placed ? [null] : [];
    });
  const visitMembers = (said: readonly Shape[], value: JsonObject, path: string): JsonObject => {
    const kept = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
      const named = said.some(({ members }) => members.has(name));
      const found = said.flatMap((shape) => memberShapes(shape, name));
      const own = visit(found, member, named ? memberStep(path, name) : anyMemberStep(path));
      return own === undefined ? [] : [[name, own]];
    });
    return Object.fromEntries(kept);
  };

  const value = visit([shape], result, ROOT) ?? null;
  return { value, removed: [...removed] };
}

/** The places of a shape that `role` does not see, whatever the result; of a recursive one, those of its first turn. */
export function hiddenPlaces(root: Shape, role: string | undefined): string[] {
  const places = new Set<string>();
  const above = new Set<Shape>();
  const visit = (shape: Shape, path: string) => {
    if (above.has(shape)) return;
    if (!sees(shape.mark, role)) {
      places.add(path);
      return;
    }
    above.add(shape);
    forEachWithin(shape, path, visit);
    above.delete(shape);
  };
  visit(root, ROOT);
  return [...places].sort();
}

/**
 * Names of the members that are for some roles alone, or hold what is: wherever a name comes again in a result, all below it is
 * taken to be protected. `$` where no named member stands above the mark.
 */
export function protectedMembers(root: Shape): string[] {
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
    const others = [...shape.patterns.map((one) => one.shape), ...shape.others, ...shape.tuple, ...shape.items];
    for (const same of [...shape.also, ...shape.branches, ...others]) visit(same, name);
    for (const [member, inner] of shape.members) visit(inner, member);
  };
  visit(root, ROOT);
  return [...names].sort();
}

/** A schema that uses one part in many places has far more places than parts. */
const PLACES = 1_000;

/** Every marked place with the roles that see it, as far as its own marks say; undefined when there are too many to send. */
export function markedPlaces(root: Shape): Redaction[] | undefined {
  const marks = new Map<string, readonly string[]>();
  const above = new Set<Shape>();
  let visits = 0;
  const visit = (shape: Shape, path: string) => {
    if (above.has(shape) || ++visits > 10 * PLACES) return;
    if (shape.mark !== undefined) marks.set(path, both(shape.mark, marks.get(path)));
    above.add(shape);
    forEachWithin(shape, path, visit);
    above.delete(shape);
  };
  visit(root, ROOT);
  if (visits > 10 * PLACES || marks.size > PLACES) return undefined;
  return [...marks].map(([path, roles]) => ({ path, roles: [...roles] })).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function forEachWithin(shape: Shape, path: string, visit: (shape: Shape, path: string) => void): void {
  for (const same of [...shape.also, ...shape.branches]) visit(same, path);
  for (const [name, member] of shape.members) visit(member, memberStep(path, name));
  for (const other of [...shape.patterns.map((one) => one.shape), ...shape.others]) visit(other, anyMemberStep(path));
  for (const [index, item] of shape.tuple.entries()) visit(item, itemStep(path, index));
  for (const item of shape.items) visit(item, itemStep(path, undefined));
}
