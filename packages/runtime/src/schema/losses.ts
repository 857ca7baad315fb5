import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { partsOf } from "./defaults.ts";
import { type Part, readPart } from "./parts.ts";
import { isZod4 } from "./schema.ts";

/** Facts in a schema that its JSON Schema lacks. */
export interface Losses {
  /** Parts that JSON cannot express. */
  unwritable: Unwritable[];
  /** Parts that this zod version cannot describe, such as a zod 3 schema within a zod 4 schema. */
  foreign: string[];
  /** All other missing facts, such as `the type of "city"`. */
  missing: string[];
}

/** A schema part that JSON Schema cannot express. */
interface Unwritable {
  path: string;
  kind: string;
}

/** Compares a zod schema with its input's JSON Schema, place by place. Without one, nothing is missing. */
export function findLosses(whole: object, root?: JsonObject): Losses {
  const unwritable: Unwritable[] = [];
  const foreign: string[] = [];
  const missing = new Set<string>();
  const seen = new Map<object, Set<JsonValue | undefined>>();

  /** `given` are the texts that an outer schema replaces for the same value. */
  const visit = (schema: object, node: JsonValue | undefined, path: readonly string[], given: ReadonlySet<string>) => {
    const visited = seen.get(schema) ?? new Set();
    // A recursive schema's places repeat, because its JSON Schema is finite.
    if (visited.has(node)) return;
    seen.set(schema, visited.add(node));
    const part = readPart(schema);
    const at = path.length === 0 ? "the schema itself" : `"${path.join(".")}"`;
    if (part === undefined || isZod4(schema) !== isZod4(whole)) {
      foreign.push(at);
      return;
    }
    const schemas = partsOf(root, node);
    for (const [name, text] of part.texts)
      if (!given.has(name) && !schemas.some((part) => part[name] === text))
        missing.add(`the ${name} ${JSON.stringify(text)} of ${at}`);
    if (isUnwritable(part)) unwritable.push({ path: path.join("."), kind: part.kind });
    else if (!part.isWritten) {
      if (!saysType(part, schemas)) missing.add(`the type of ${at}`);
      if (!saysValues(part, schemas)) missing.add(`the values of ${at}`);
      visitWithin(part, { schemas, node, path, given: new Set([...given, ...part.texts.keys()]), at });
    }
    for (const [name, member] of part.members) {
      const written = schemas.map(({ properties }) => ownOf(properties, name)).find((found) => found !== undefined);
      if (written === undefined && root !== undefined) missing.add(`the property "${[...path, name].join(".")}"`);
      else visit(member, written, [...path, name], NONE);
    }
  };

  const visitWithin = (part: Part, { schemas, node, path, given, at }: Within) => {
    const { inner, items, others, keys, options, all } = part;
    const first = (...keywords: string[]) =>
      keywords.flatMap((keyword) => schemas.map((schema) => schema[keyword])).find((found) => found !== undefined);
    if (inner !== undefined) {
      const branches = part.kind === "nullable" ? first("anyOf", "oneOf") : undefined;
      if (Array.isArray(branches)) visit(inner, branches[0], path, NONE);
      else visit(inner, node, path, given);
    }
    for (const schema of all) visit(schema, node, path, NONE);
    const listed = first("prefixItems");
    for (const [i, item] of items.entries())
      visit(item, Array.isArray(listed) ? listed[i] : undefined, [...path, String(i)], NONE);
    const patterns = first("patternProperties");
    const other =
      first("additionalProperties", "items") ?? (isJsonObject(patterns) ? Object.values(patterns)[0] : undefined);
    if (others !== undefined && other !== false) visit(others, other, [...path, "*"], NONE);
    const allowedKeys = keys && readPart(keys);
    if (allowedKeys && !saysValues(allowedKeys, partsOf(root, first("propertyNames"))))
      missing.add(`the keys of ${at}`);
    const branches = first("anyOf", "oneOf");
    const isPaired = Array.isArray(branches) && branches.length === options.length;
    for (const [i, option] of options.entries()) visit(option, isPaired ? branches[i] : node, path, NONE);
  };

  visit(whole, root, [], NONE);
  return { unwritable, foreign, missing: root === undefined ? [] : [...missing] };
}

interface Within {
  schemas: readonly JsonObject[];
  node: JsonValue | undefined;
  path: readonly string[];
  given: ReadonlySet<string>;
  at: string;
}

const NONE: ReadonlySet<string> = new Set();

function ownOf(properties: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

const NOT_JSON = new Set([
  "bigint",
  "custom",
  "date",
  "file",
  "function",
  "map",
  "nan",
  "promise of zod 3",
  "set",
  "symbol",
  "transform",
  "undefined",
  "void",
]);

function isUnwritable({ kind, coerces, isWritten, values }: Part): boolean {
  if (isWritten || (coerces && (kind === "date" || kind === "bigint"))) return false;
  return NOT_JSON.has(kind) || (kind === "literal" && values.some((value) => !isScalar(value)));
}

function isScalar(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** JSON Schema types for zod types. Others have no type, or may have any. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  array: ["array"],
  boolean: ["boolean"],
  date: ["string"],
  bigint: ["integer"],
  null: ["null"],
  number: ["number", "integer"],
  object: ["object"],
  record: ["object"],
  string: ["string"],
  success: ["boolean"],
  template_literal: ["string"],
  tuple: ["array"],
};

function saysType({ kind }: Part, schemas: readonly JsonObject[]): boolean {
  const types = TYPES[kind];
  return !types || schemas.some(({ type }) => [type].flat().some((name) => types.includes(name as string)));
}

function saysValues({ values }: Part, schemas: readonly JsonObject[]): boolean {
  const written = schemas.flatMap((part) => [part["const"], part["enum"], part["type"] === "null" ? null : []].flat());
  return values.every((value) => written.includes(value as JsonValue));
}

const INSTEAD: Readonly<Record<string, string>> = {
  date: "take text and convert it: z.iso.datetime(), z.coerce.date(), or z.string().pipe(z.coerce.date())",
  file: 'take its bytes as base64 text: z.base64(), and decode them with Buffer.from(text, "base64")',
  bigint: "take an integer or its text: z.int(), or z.string().transform(BigInt)",
  map: "take an object: z.record(z.string(), ...)",
  set: "take an array: z.array(...)",
  transform: "put a schema before it: z.string().transform(...)",
  custom: "describe what it accepts with a built-in schema and refine that: z.string().refine(...)",
  undefined: "make the property optional: .optional()",
};

export function explainUnwritable({ path, kind }: Unwritable): string {
  const where = path === "" ? "the schema itself" : `"${path}"`;
  return `${where} is of kind "${kind}", which JSON does not have; ${INSTEAD[kind] ?? "use a kind that JSON has"}`;
}
