import { isZod3, isZod4, type Zod4Schema } from "./schema.ts";
import { ZOD3_NOT_JSON } from "./to-json-schema.ts";
import { metadataOf } from "./zod4.ts";

/** A part of a schema of zod 3 or zod 4, as its input describes it. */
export interface Part {
  /** The name of the type in zod 4. */
  kind: string;
  /** Its description and title. */
  texts: ReadonlyMap<string, string>;
  /** True if the type converts its input, such as a text to a date. */
  coerces: boolean;
  /** True if the owner wrote the JSON Schema of this part. */
  isWritten: boolean;
  /** The schema of the same value, for example of the value that may be absent. */
  inner?: object | undefined;
  members: readonly (readonly [name: string, schema: object])[];
  items: readonly object[];
  /** The schema of all other properties or items. */
  others?: object | undefined;
  keys?: object | undefined;
  options: readonly object[];
  /** Schemas that the value must all match. */
  all: readonly object[];
  /** The values of an enum or a literal. */
  values: readonly unknown[];
}

/** Reads a part of a schema. Undefined for a value that is not a schema of zod. */
export function readPart(schema: object): Part | undefined {
  if (isZod4(schema)) return readZod4(schema);
  return isZod3(schema) ? readZod3(schema._def as Zod3Definition) : undefined;
}

function readZod4(schema: Zod4Schema): Part {
  const { def, innerType } = schema._zod;
  const { type, shape = {}, left, right, entries = {}, options = [], keyType } = def;
  const metadata = metadataOf(schema);
  return {
    kind: type,
    texts: textsOf(metadata),
    coerces: def.coerce === true,
    isWritten: schema._zod.toJSONSchema !== undefined,
    inner: def.innerType ?? innerType ?? (isTransform(def.in) ? def.out : def.in),
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
  in?: object;
  value?: unknown;
  values?: readonly unknown[] | Record<string, unknown>;
}

/** Names of zod 4 for types of zod 3 with another one. */
const ZOD3_KINDS: Readonly<Record<string, string>> = {
  ...ZOD3_NOT_JSON,
  ZodDiscriminatedUnion: "union",
  ZodNativeEnum: "enum",
  // The promise of zod 3 accepts only promises.
  ZodPromise: "promise of zod 3",
};

function readZod3(def: Zod3Definition): Part {
  const { typeName, options = [], left, right, values = [], catchall } = def;
  const isList = typeName === "ZodArray";
  return {
    kind: ZOD3_KINDS[typeName] ?? typeName.replace("Zod", "").toLowerCase(),
    texts: textsOf({ description: def.description }),
    coerces: def.coerce === true,
    isWritten: false,
    inner: def.innerType ?? def.schema ?? def.in ?? def.getter?.() ?? (isList ? undefined : def.type),
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

/** The values of an enum of TypeScript, whose numbers are also keys of their names. */
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
