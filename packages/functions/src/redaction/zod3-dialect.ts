import type { Dialect, Kind, Part, Shape } from "./shape.ts";

import { MARK } from "./visible-to.ts";

interface Definition {
  typeName: string;
  shape?: () => Record<string, Part>;
  catchall?: Part;
  type?: Part;
  items?: Part[];
  rest?: Part | null;
  valueType?: Part;
  options?: Part[] | Map<unknown, Part>;
  left?: Part;
  right?: Part;
  innerType?: Part;
  getter?: () => Part;
  schema?: Part;
  effect?: { type: string };
  out?: Part;
  value?: unknown;
  values?: unknown;
  [MARK]?: unknown;
}

/** Reads schemas of zod 3 for redaction. */
export const zod3Dialect: Dialect = {
  markOf: (part) => definitionOf(part)[MARK],
  describe,
  *within(part) {
    const definition = definitionOf(part);
    yield* schemasIn(definition.shape?.());
    yield* schemasIn(innerOfLazy(definition));
    for (const value of Object.values(definition)) yield* schemasIn(value);
  },
};

const KINDS: Record<string, Kind> = { ZodString: "string", ZodBoolean: "boolean", ZodNull: "null" };

function describe(part: Part, shape: Shape, shapeOf: (part: Part) => Shape): void {
  const definition = definitionOf(part);
  const { typeName, type, valueType, options, left, right, innerType, catchall, rest, schema, out } = definition;
  const kind = KINDS[typeName];
  if (kind !== undefined) shape.kinds = [kind];
  switch (typeName) {
    case "ZodObject":
      shape.kinds = ["object"];
      for (const [name, member] of Object.entries(definition.shape?.() ?? {})) shape.members.set(name, shapeOf(member));
      if (catchall) shape.others.push(shapeOf(catchall));
      break;
    case "ZodRecord":
      shape.kinds = ["object"];
      if (valueType) shape.others.push(shapeOf(valueType));
      break;
    case "ZodArray":
      shape.kinds = ["array"];
      if (type) shape.items.push(shapeOf(type));
      break;
    case "ZodTuple":
      shape.kinds = ["array"];
      shape.tuple.push(...(definition.items ?? []).map(shapeOf));
      if (rest) shape.items.push(shapeOf(rest));
      break;
    case "ZodUnion":
    case "ZodDiscriminatedUnion":
      shape.branches.push(...Array.from(options?.values() ?? [], shapeOf));
      break;
    case "ZodLiteral":
      shape.values = [definition.value ?? null];
      break;
    case "ZodEnum":
      shape.values = definition.values as unknown[];
      break;
    default:
      shape.also.push(...[...samePlace(definition), left, right].filter((one) => one !== undefined).map(shapeOf));
  }

  function* samePlace({ effect }: Definition) {
    if (typeName === "ZodBranded" || typeName === "ZodPromise") yield type;
    if (typeName === "ZodPipeline") yield out;
    if (typeName === "ZodEffects" && effect?.type !== "transform") yield schema;
    if (typeName === "ZodLazy") yield innerOfLazy(definition);
    // For optional, nullable, default, catch and readonly.
    yield innerType;
  }
}

function definitionOf(part: Part): Definition {
  return (part as { _def: Definition })._def;
}

const innersOfLazy = new WeakMap<Definition, Part>();

/** Calls the getter once, because it may return a new schema each time. */
function innerOfLazy(definition: Definition): Part | undefined {
  const known = innersOfLazy.get(definition) ?? definition.getter?.();
  if (known !== undefined) innersOfLazy.set(definition, known);
  return known;
}

function* schemasIn(value: unknown): Iterable<Part> {
  if (typeof value !== "object" || value === null) return;
  const isSchema = "_def" in value && "safeParse" in value;
  if (isSchema) yield value;
  else if (Array.isArray(value) || value instanceof Map) for (const item of value.values()) yield* schemasIn(item);
  else if (Object.getPrototypeOf(value) === Object.prototype)
    for (const item of Object.values(value)) yield* schemasIn(item);
}
