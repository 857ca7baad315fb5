import type { JsonObject, JsonValue } from "@patchbay/protocol";

/** One piece of a call's arguments, as Vertex streams them where a gateway asks for that. */
export interface PartialArg {
  /** Where the value belongs, such as `$.filter.tags[0]`. */
  jsonPath?: string;
  stringValue?: string;
  numberValue?: number;
  boolValue?: boolean;
  nullValue?: unknown;
  /** More of the same string follows. */
  willContinue?: boolean;
}

/** Adds pieces to a call's arguments. False for a piece that cannot be placed: the call must not run without it. */
export function addPartialArgs(args: JsonObject, pieces: readonly PartialArg[]): boolean {
  return pieces.every((piece) => {
    const path = stepsOf(piece.jsonPath ?? "");
    return path !== undefined && place(args, path, piece);
  });
}

type Step = string | number;

/** `$.a.b[0]['c d']` as its steps; undefined for another form. */
function stepsOf(path: string): Step[] | undefined {
  if (!/^\$(\.[^.[\]]+|\[\d+\]|\['[^']*'\]|\["[^"]*"\])+$/.test(path)) return undefined;
  return [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g)].map(
    ([, member, index, single, double]) => (index === undefined ? (member ?? single ?? double ?? "") : Number(index)),
  );
}

function place(args: JsonObject, path: readonly Step[], piece: PartialArg): boolean {
  let at: JsonValue = args;
  for (const [depth, step] of path.entries()) {
    const next = path[depth + 1];
    if (!fits(at, step)) return false;
    const holder = at as Record<Step, JsonValue>;
    if (next === undefined) {
      const before = Object.hasOwn(holder, step) ? holder[step] : undefined;
      holder[step] = valueOf(piece, before);
      return true;
    }
    if (!Object.hasOwn(holder, step)) holder[step] = typeof next === "number" ? [] : {};
    at = holder[step]!;
  }
  return false;
}

/** Elements come in order, so an index leaves no gap; `__proto__` would be no member. */
function fits(at: JsonValue, step: Step): boolean {
  if (typeof step === "number") return Array.isArray(at) && step <= at.length;
  return typeof at === "object" && at !== null && !Array.isArray(at) && step !== "__proto__";
}

/** Strings arrive in pieces that follow one another; other values arrive whole. */
function valueOf({ stringValue, numberValue, boolValue }: PartialArg, before: JsonValue | undefined): JsonValue {
  if (stringValue !== undefined) return typeof before === "string" ? before + stringValue : stringValue;
  return numberValue ?? boolValue ?? null;
}
