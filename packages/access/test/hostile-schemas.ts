import type { FunctionManifest, Manifest } from "@patchbay/protocol";
import type { JsonObject, JsonValue } from "@patchbay/kit";

const BYTES = 65_000;

/** Numbers from 0. */
const each = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const named = (count: number, make: (at: number) => JsonValue, name = (at: number) => `p${at}`): JsonObject =>
  Object.fromEntries(each(count, (at) => [name(at), make(at)]));
const nested = (depth: number, around: (inner: JsonValue) => JsonValue, inner: JsonValue = {}): JsonValue =>
  depth === 0 ? inner : around(nested(depth - 1, around, inner));
const root = (value: JsonValue, $defs: JsonObject = {}): JsonObject => ({
  type: "object",
  $defs,
  properties: { value },
});
/** Definitions of which each refers twice to the next one. */
const doubling = (count: number, join: (refs: JsonValue[]) => JsonObject, leaf: JsonValue): JsonObject =>
  named(
    count,
    (at) => (at === count - 1 ? leaf : join(each(2, () => ({ $ref: `#/$defs/d${at + 1}` })))),
    (at) => `d${at}`,
  );

/** A schema that grows with `size`. `change` is a number in which two versions of it differ. */
type Family = (size: number, change: number) => JsonObject;

/** Schemas that cost more than their size. */
export const HOSTILE: Readonly<Record<string, Family>> = {
  "a recursive object that no value satisfies": (size, change) =>
    root(
      { type: "object", maxProperties: change, properties: { n: { $ref: "#/$defs/n" } } },
      {
        n: { type: "object", properties: named(size, () => ({ $ref: "#/$defs/n" })), not: {} },
      },
    ),
  "required members of a recursive object": (size, change) =>
    root(
      { $ref: "#/$defs/n", minProperties: change },
      {
        n: {
          type: "object",
          required: each(size, (at) => `p${at}`),
          properties: named(size, () => ({ $ref: "#/$defs/n" })),
        },
      },
    ),
  "a wide union": (size, change) =>
    root({ anyOf: each(size, (at) => ({ type: "object", properties: { [`p${at}`]: { maximum: change } } })) }),
  "a union of constants": (size, change) => root({ oneOf: each(size, (at) => ({ const: at + change })) }),
  "a union of objects with a kind": (size, change) =>
    root({
      oneOf: each(Math.min(size, 50), (at) => ({
        type: "object",
        required: ["kind"],
        properties: { kind: { enum: each(size, (n) => at * size + n + change) } },
      })),
    }),
  "unions in unions": (size, change) =>
    root(nested(Math.min(size, 28), (inner) => ({ anyOf: [inner, inner] }), { enum: each(size, (at) => at + change) })),
  "allOf that doubles": (size, change) =>
    root(
      { $ref: "#/$defs/d0", maxLength: change },
      doubling(Math.min(size, 60), (allOf) => ({ allOf }), { type: "string", minLength: change }),
    ),
  "anyOf that doubles": (size, change) =>
    root(
      { $ref: "#/$defs/d0" },
      doubling(Math.min(size, 60), (anyOf) => ({ anyOf }), { type: "string", minLength: change }),
    ),
  "members that double": (size, change) =>
    root(
      { $ref: "#/$defs/d0" },
      doubling(Math.min(size, 60), ([a, b]) => ({ type: "object", properties: { a: a!, b: b! } }), {
        type: "integer",
        minimum: change,
      }),
    ),
  "nested negations": (size, change) =>
    root({ allOf: each(size, () => nested(20, (not) => ({ not }), { maximum: change })) }),
  "a cycle of references": (size, change) =>
    root(
      { $ref: "#/$defs/d0", maximum: change },
      named(
        size,
        (at) => ({ $ref: `#/$defs/d${(at + 1) % size}` }),
        (at) => `d${at}`,
      ),
    ),
  "long references": (size, change) => root({ anyOf: [{ $ref: `#/${"%41".repeat(size)}` }, { maximum: change }] }),
  "names with a schema": (size, change) =>
    root({
      type: "object",
      maxProperties: change,
      propertyNames: { anyOf: each(size, (at) => ({ pattern: `^${at}$`, maxLength: 1 })) },
    }),
  "patterns of names": (size, change) =>
    root({
      type: "object",
      minProperties: change,
      patternProperties: named(
        size,
        () => ({ not: {} }),
        (at) => `^(a|b${at})*$`,
      ),
    }),
  "large patterns": (size, change) =>
    root({
      type: "object",
      properties: named(size, (at) => ({ type: "string", pattern: `^(a{0,1000}b?){${(at % 9) + change}}$` })),
    }),
  "classes of characters": (size, change) =>
    root({
      type: "object",
      properties: named(size, (at) => ({ type: "string", minLength: change, pattern: `[\\p{L}${at}]\\p{Lu}` })),
    }),
  "a long list of values": (size, change) => root({ enum: each(size, (at) => at + change) }),
  "many lists of values": (size, change) =>
    root({
      type: "object",
      properties: named(Math.ceil(size / 50), () => ({ enum: each(50, (at) => `${at}.${change}`) })),
    }),
  "values for many alternatives": (size, change) =>
    root({
      anyOf: [
        ...each(45, (at) => ({ type: "string", minLength: 100 + at + change })),
        { enum: each(size, (at) => `v${at}`) },
      ],
    }),
  "many bounds": (size, change) =>
    root({
      anyOf: each(size, (at) => ({
        type: ["string", "array", "object"],
        maxLength: at + change,
        maxItems: at,
        minProperties: at,
      })),
    }),
  "huge bounds": (size, change) =>
    root({
      type: "object",
      properties: named(size, (at) => ({
        type: ["string", "array"],
        minItems: 900 + change,
        minLength: 19_000 + at + change,
      })),
    }),
  "different items": (size, change) =>
    root({
      type: "array",
      uniqueItems: true,
      minItems: 500 + change,
      items: { anyOf: each(size, (at) => ({ const: at })) },
    }),
  "places of a tuple": (size, change) =>
    root({ type: "array", prefixItems: each(size, () => ({ type: "integer", maximum: change })) }),
  "empty schemas": (size, change) => root({ allOf: [...each(size, () => ({})), { maximum: change }] }),
  "new members": (size, change) =>
    root({
      type: "object",
      properties: named(
        size,
        () => ({ type: "string" }),
        (at) => `p${at}.${change}`,
      ),
    }),
  "new members with long paths": (size, change) =>
    root({
      type: "object",
      properties: {
        ["p".repeat(20 * size)]: {
          type: "object",
          properties: named(
            size,
            () => ({}),
            (at) => `${at}.${change}`,
          ),
        },
      },
    }),
  "members that are optional": (size, change) =>
    root({
      type: "object",
      required: each(size, (at) => `p${at}`).slice(0, change === 1 ? size : 1),
      properties: named(size, () => ({ type: "number" })),
    }),
  "other keywords": (size, change) =>
    root({
      ...named(
        size,
        () => change,
        (at) => `z${at}`,
      ),
      maximum: change,
    }),
};

/** The largest schema of a family within the limit on schemas. */
export function largest(family: Family, change: number, bytes = BYTES): JsonObject {
  const fits = (size: number) => JSON.stringify(family(size, change)).length <= bytes;
  let [size, over] = [1, 2];
  for (; over < bytes && fits(over); over *= 2) size = over;
  while (over - size > 1) {
    const middle = Math.floor((size + over) / 2);
    if (fits(middle)) size = middle;
    else over = middle;
  }
  return family(size, change);
}

export const oneFunction = (name: string, change: Partial<FunctionManifest> = {}): FunctionManifest => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  roles: "everyone",
  conditional: false,
  effect: "read",
  idempotent: false,
  timeoutMs: 60_000,
  ...change,
});

export const manifestOf = (functions: FunctionManifest[], change: Partial<Manifest> = {}): Manifest => ({
  name: "hostile",
  preparesContext: false,
  functions,
  ...change,
});
