import { isZod3, isZod4, type Zod3Schema, type Zod4Schema } from "./schema.ts";
import { ZOD3_NOT_JSON } from "./to-json-schema.ts";
import { metadataOf } from "./zod4.ts";

/** A part in a zod 3 or zod 4 schema, as its input describes it. Only `output` is about the other side. */
export interface Part {
  /** Zod 4's name for the type. */
  kind: string;
  /** Its description and title. */
  texts: ReadonlyMap<string, string>;
  /** True if the type converts its input, such as a text to a date. */
  coerces: boolean;
  /** True if the owner wrote this part's JSON Schema. */
  isWritten: boolean;
  /** The schema for the same value, for example inside an optional one. */
  inner?: object | undefined;
  /** The output schema, for a wrapper, a pipe or a refinement. Undefined after a transform. */
  output?: object | undefined;
  members: readonly (readonly [name: string, schema: object])[];
  items: readonly object[];
  /** The schema for all other properties or items. */
  others?: object | undefined;
  keys?: object | undefined;
  options: readonly object[];
  /** Schemas that the value must all match. */
  all: readonly object[];
  /** The values in an enum or a literal. */
  values: readonly unknown[];
}

/** Reads a schema part. Undefined for a value that is not a zod schema. */
export function readPart(schema: object): Part | undefined {
  if (isZod4(schema)) return readZod4(schema);
  return isZod3(schema) ? readZod3(schema) : undefined;
}

const innersOfLazy = new WeakMap<object, object>();

/** The schema that a lazy one returns. Calls zod 3's getter once, because it may return a new schema each time. */
export function innerOfLazy(schema: object): object | undefined {
  if (isZod4(schema)) return schema._zod.innerType;
  const known = innersOfLazy.get(schema) ?? ((schema as Zod3Schema)._def as Zod3Definition).getter?.();
  if (known !== undefined) innersOfLazy.set(schema, known);
  return known;
}

/**
 * Zod 4 types whose output is the inner schema's output. Others with an inner schema, such as `success`, output another
 * value.
 */
const WRAPPERS = new Set("optional nullable default prefault nonoptional readonly catch promise lazy".split(" "));

function readZod4(schema: Zod4Schema): Part {
  const { def, innerType } = schema._zod;
  const wrapped = def.innerType ?? innerType;
  const { type, shape = {}, left, right, entries = {}, options = [], keyType } = def;
  const metadata = metadataOf(schema);
  return {
    kind: type,
    texts: textsOf(metadata),
    coerces: def.coerce === true,
    isWritten: schema._zod.toJSONSchema !== undefined,
    inner: wrapped ?? (isTransform(def.in) ? def.out : def.in),
    output: WRAPPERS.has(type) ? wrapped : def.out,
    members: Object.entries(shape),
    items: def.items ?? [],
    others: def.element ?? def.valueType ?? def.rest ?? def.catchall,
    keys: keyType,
    options,
    all: [left, right].filter((side) => side !== undefined),
    values: def.values ?? namesRemoved(entries),
  };
}

/** The input of `z.preprocess()` is the schema after the conversion, because the conversion accepts anything. */
function isTransform(schema: object | undefined): boolean {
  return schema !== undefined && isZod4(schema) && schema._zod.def.type === "transform";
}

interface Zod3Definition {
  typeName: string;
  description?: string;
  coerce?: boolean;
  shape?: () => Record<string, object>;
  catchall?: object;
  type?: object;
  items?: readonly object[];
  rest?: object | null;
  keyType?: object;
  valueType?: object;
  options?: readonly object[] | ReadonlyMap<unknown, object>;
  left?: object;
  right?: object;
  innerType?: object;
  getter?: () => object;
  schema?: object;
  effect?: { type: string };
  in?: object;
  out?: object;
  value?: unknown;
  values?: readonly unknown[] | Record<string, unknown>;
}

/** Zod 4 names for zod 3 types with another name. */
const ZOD3_KINDS: Readonly<Record<string, string>> = {
  ...ZOD3_NOT_JSON,
  ZodDiscriminatedUnion: "union",
  ZodNativeEnum: "enum",
  // Zod 3's promise accepts only promises.
  ZodPromise: "promise of zod 3",
};

function readZod3(schema: Zod3Schema): Part {
  const def = schema._def as Zod3Definition;
  const { typeName, options = [], left, right, values = [], catchall } = def;
  const isList = typeName === "ZodArray";
  const wrapped = def.innerType ?? def.schema ?? innerOfLazy(schema) ?? (isList ? undefined : def.type);
  return {
    kind: ZOD3_KINDS[typeName] ?? typeName.replace("Zod", "").toLowerCase(),
    texts: textsOf({ description: def.description }),
    coerces: def.coerce === true,
    isWritten: false,
    inner: wrapped ?? def.in,
    output: def.effect?.type === "transform" ? undefined : (wrapped ?? def.out),
    members: Object.entries(def.shape?.() ?? {}),
    items: def.items ?? [],
    others: (isList ? def.type : undefined) ?? def.valueType ?? def.rest ?? catchall,
    keys: def.keyType,
    options: [...options.values()],
    all: [left, right].filter((side) => side !== undefined),
    values:
      "value" in def ? [def.value] : Array.isArray(values) ? values : namesRemoved(values as Record<string, unknown>),
  };
}

/** The values in a TypeScript enum, whose numbers are also keys for their names. */
function namesRemoved(entries: Readonly<Record<string, unknown>>): unknown[] {
  const numbers = Object.values(entries).filter((value) => typeof value === "number");
  return Object.entries(entries)
    .filter(([name]) => !numbers.includes(Number(name)))
    .map(([, value]) => value);
}

function textsOf(metadata: Readonly<Record<string, unknown>>): Map<string, string> {
  const texts = ["title", "description"].map((name) => [name, metadata[name]] as const);
  return new Map(
    texts.filter((text): text is readonly [string, string] => typeof text[1] === "string" && text[1] !== ""),
  );
}
