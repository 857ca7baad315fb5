import type { Node } from "estree";
import { isJsonObject, type JsonValue } from "@patchbay/kit";
import { nodesIn } from "../code/modules.ts";
import type { Slice } from "../code/slice.ts";

/** Values that code compares with: random values would rarely equal them. */
export interface Dictionary {
  texts: string[];
  numbers: number[];
  /** Context members that the code reads. */
  members: string[];
}

/** Values by the name of their member, for members with the same name in all functions. */
export type Named = Readonly<Record<string, readonly JsonValue[]>>;

/** Largest number of texts in a dictionary. Code with more has records in it. */
const MOST = 40;
const LONGEST = 60;

/** The literals in the code that a function uses, and its member names, because they find records. */
export function dictionaryOf({ code }: Slice): Dictionary {
  const [texts, numbers, members] = [new Set<string>(), new Set<number>(), new Set<string>()];
  for (const { node } of code)
    // A slice holds nodes within its other nodes.
    if (texts.size < MOST)
      for (const inner of nodesIn(node)) {
        if (inner.type === "Literal" && typeof inner.value === "number") numbers.add(inner.value);
        if (inner.type === "Literal" && typeof inner.value === "string" && inner.value.length <= LONGEST)
          texts.add(inner.value);
        if (inner.type === "Property" && !inner.computed && inner.key.type === "Identifier") texts.add(inner.key.name);
        for (const name of contextMembers(inner)) members.add(name);
      }
  return { texts: [...texts].slice(0, MOST), numbers: [...numbers].slice(0, MOST), members: [...members] };
}

/** Member names that code reads from a variable `context`. */
function contextMembers(node: Node): string[] {
  if (node.type === "MemberExpression" && node.object.type === "Identifier" && node.object.name === "context") {
    const { property } = node;
    if (property.type === "Identifier" && !node.computed) return [property.name];
    return property.type === "Literal" && typeof property.value === "string" ? [property.value] : [];
  }
  if (node.type !== "Property" || node.key.type !== "Identifier" || node.key.name !== "context") return [];
  const { value } = node;
  if (value.type !== "ObjectPattern") return [];
  return value.properties.flatMap((property) =>
    property.type === "Property" && property.key.type === "Identifier" ? [property.key.name] : [],
  );
}

/** The texts and numbers of declared values first, because they name records that exist. */
export function withValues({ texts, numbers, members }: Dictionary, values: readonly JsonValue[]): Dictionary {
  const leaves = values.flatMap((value) => [...leavesOf(value)]);
  return {
    texts: [...new Set([...leaves.filter((leaf) => typeof leaf === "string"), ...texts])].slice(0, MOST),
    numbers: [...new Set([...leaves.filter((leaf) => typeof leaf === "number"), ...numbers])].slice(0, MOST),
    members,
  };
}

/** The values without members in `values`, by the name of their member. */
export function namedIn(values: readonly JsonValue[]): Named {
  const found = new Map<string, Set<JsonValue>>();
  const visit = (value: JsonValue, name: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, name);
    else if (isJsonObject(value)) for (const [member, part] of Object.entries(value)) visit(part, member);
    else if (value !== null) found.set(name, (found.get(name) ?? new Set()).add(value));
  };
  for (const value of values) visit(value, "");
  return Object.fromEntries([...found].map(([name, some]) => [name, [...some].slice(0, MOST)]));
}

function* leavesOf(value: JsonValue): Iterable<JsonValue> {
  if (Array.isArray(value)) for (const member of value) yield* leavesOf(member);
  else if (isJsonObject(value)) for (const member of Object.values(value)) yield* leavesOf(member);
  else yield value;
}
