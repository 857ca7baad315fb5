import type { JsonValue } from "@patchbay/protocol";

/** What an output schema says of one place of a result, whatever library it was written with: enough to find marked members. */
export interface Shape {
  /** The roles that see what stands here; undefined = all. */
  mark?: readonly string[];
  members: Map<string, Shape>;
  /** Members by a pattern of their name. */
  patterns: { pattern: RegExp; shape: Shape }[];
  /** Members that neither of the two names. */
  others: Shape[];
  /** Items by their place. */
  tuple: Shape[];
  /** All further items. */
  items: Shape[];
  /** Says more of the same place: what a wrapper wraps, the parts of an intersection, what a reference leads to. */
  also: Shape[];
  /** Branches, of which those count that the value can belong to. */
  branches: Shape[];
  /** JSON's kinds of values that can stand here; undefined = any. */
  kinds?: readonly Kind[];
  /** The texts, numbers and so on that can stand here; undefined = any. */
  values?: readonly unknown[];
}

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

export function emptyShape(): Shape {
  return { members: new Map(), patterns: [], others: [], tuple: [], items: [], also: [], branches: [] };
}

/** All that is said of the place where `value` stands: a branch is left out only when the value surely is none of it. */
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

/** What a shape itself says of a member: by name or pattern, else what it says of all others. */
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
  // That a protected member is empty tells something too: null is of every branch.
  if (value === null) return true;
  if (shape.kinds !== undefined && !shape.kinds.includes(kindOf(value))) return false;
  if (shape.values !== undefined && kindOf(value) !== "object" && kindOf(value) !== "array")
    return shape.values.includes(value);
  if (kindOf(value) !== "object") return true;
  // A member such as `type: "internal"` tells branches apart.
  return [...shape.members].every(([name, { values }]) => {
    const member = Object.hasOwn(value as object, name) ? (value as Record<string, JsonValue>)[name] : undefined;
    return values === undefined || member === undefined || values.includes(member);
  });
}

function kindOf(value: JsonValue): Kind {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as Exclude<Kind, "null" | "array">);
}
