import { createMatcher, followRef, textsLike, withFormats } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Dictionary, Named } from "./dictionary.ts";
import type { Random } from "./random.ts";

const DEPTH = 6;
/** Steps to check one value. */
const STEPS = 20_000;
/** Most values for one place. More would leave no time for the others. */
const MOST = 60;
const TEXTS = ["a", "", "A", "1"];
const FORMATS: Readonly<Record<string, string>> = {
  email: "ada@example.com",
  uuid: "8a4b3c1e-5b1a-4c7e-9a55-2f4f0c9b7d10",
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  uri: "https://example.com/a",
  ipv4: "10.0.0.1",
  duration: "P1D",
};

/** Values for the places in one schema: from the schema, at its bounds, and from the code that decides. */
export class Values {
  readonly #root: JsonObject;
  readonly #dictionary: Dictionary;
  readonly #random: Random;
  readonly #named: Named;
  readonly #matches: ReturnType<typeof createMatcher>;
  readonly #known = new Map<string, Map<JsonValue, JsonValue[]>>();

  constructor(
    root: JsonObject,
    { dictionary, random, named }: { dictionary: Dictionary; random: Random; named: Named },
  ) {
    this.#root = withFormats(root);
    this.#named = named;
    this.#matches = createMatcher(this.#root);
    this.#dictionary = dictionary;
    this.#random = random;
  }

  /** A value that the schema probably accepts. */
  sample(schema: JsonValue = this.#root, depth = 0, name = ""): JsonValue {
    const given = this.#given(schema, name);
    // Half of them, because other values rarely find a record.
    if (given.length > 0 && this.#random.below(2) === 0) return this.#random.pick(given)!;
    const branch = this.#branch(schema);
    if (isObject(branch)) return this.#object(branch, depth);
    if (typeOf(branch) === "array") return this.#array(branch, depth);
    return this.#random.pick(this.scalars(branch, name)) ?? null;
  }

  /** Values that the service has for other members of this name. */
  #given(schema: JsonValue, name: string): JsonValue[] {
    const values = Object.hasOwn(this.#named, name) ? this.#named[name]! : [];
    return values.filter((value) => this.#matches(schema, value, { left: STEPS }) !== false);
  }

  /** The same value with one place changed, for every place and every value that is interesting there. */
  *variations(value: JsonValue, schema: JsonValue = this.#root, depth = 0, name = ""): Iterable<JsonValue> {
    if (depth > DEPTH) return;
    const branch = this.#branch(schema, value);
    if (isObject(branch) && isJsonObject(value)) {
      const properties = propertiesOf(branch);
      for (const member of new Set([...Object.keys(properties), ...Object.keys(value)])) {
        const { [member]: present, ...rest } = value;
        const part = properties[member] ?? true;
        if (present === undefined) yield* this.#some(part, depth, member).map((made) => ({ ...rest, [member]: made }));
        else for (const made of this.variations(present, part, depth + 1, member)) yield { ...value, [member]: made };
        if (present !== undefined && !isRequired(branch, member)) yield rest;
      }
    } else if (Array.isArray(value) && typeOf(branch) === "array") {
      const items = isJsonObject(branch) ? (branch["items"] ?? true) : true;
      if (value.length > 0) yield value.slice(1);
      yield [...value, this.sample(items, depth + 1)];
      for (const [i, item] of value.entries())
        for (const made of this.variations(item, items, depth + 1)) yield value.with(i, made);
    } else yield* this.#some(schema, depth, name);
  }

  #some(schema: JsonValue, depth: number, name: string): JsonValue[] {
    const branch = this.#branch(schema);
    return isObject(branch) || typeOf(branch) === "array"
      ? [this.sample(branch, depth + 1)]
      : this.scalars(schema, name);
  }

  /** A schema without references, and one branch if it has several. */
  #branch(schema: JsonValue, value?: JsonValue): JsonValue {
    let part = schema;
    for (let step = 0; step < DEPTH && isJsonObject(part); step++) {
      const { $ref, anyOf, oneOf } = part;
      const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
      if (typeof $ref === "string") part = followRef(this.#root, $ref) ?? true;
      else if (branches)
        part =
          (value !== undefined && branches.find((branch) => fits(branch, value))) ||
          (this.#random.pick(branches) ?? true);
      else break;
    }
    return part;
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const made: JsonObject = {};
    for (const [name, part] of Object.entries(propertiesOf(schema)))
      if (isRequired(schema, name) || (depth < DEPTH && this.#random.below(2) === 0))
        made[name] = this.sample(part, depth + 1, name);
    return made;
  }

  #array(schema: JsonValue, depth: number): JsonValue[] {
    const { items = true, prefixItems, minItems, maxItems } = isJsonObject(schema) ? schema : {};
    if (Array.isArray(prefixItems)) return prefixItems.map((item) => this.sample(item, depth + 1));
    const least = typeof minItems === "number" ? minItems : 0;
    const most = depth < DEPTH ? Math.min(typeof maxItems === "number" ? maxItems : 3, least + 3) : least;
    const length = least + this.#random.below(Math.max(0, most - least) + 1);
    return Array.from({ length: Math.min(length, 50) }, () => this.sample(items, depth + 1));
  }

  /** A place's interesting values, for places without members. */
  scalars(schema: JsonValue, name: string): JsonValue[] {
    const known = this.#known.get(name) ?? new Map<JsonValue, JsonValue[]>();
    this.#known.set(name, known);
    const found = known.get(schema) ?? [
      ...new Set([...this.#given(schema, name), ...Iterator.from(this.#listScalars(schema)).take(MOST)]),
    ];
    known.set(schema, found);
    return found;
  }

  *#listScalars(schema: JsonValue, depth = 0): Iterable<JsonValue> {
    const own = isJsonObject(schema) ? schema : {};
    const { const: only, enum: listed, anyOf, oneOf, $ref, type } = own;
    if (only !== undefined) return yield only;
    if (Array.isArray(listed)) return yield* listed;
    if (depth < DEPTH && typeof $ref === "string")
      return yield* this.#listScalars(followRef(this.#root, $ref) ?? true, depth + 1);
    for (const branches of [anyOf, oneOf])
      if (Array.isArray(branches)) for (const branch of branches) yield* this.#listScalars(branch, depth + 1);
    const isOpen = type === undefined && anyOf === undefined && oneOf === undefined;
    for (const name of isOpen ? ["string", "boolean", "number", "null"] : type === undefined ? [] : [type].flat()) {
      if (name === "boolean") yield* [true, false];
      else if (name === "null") yield null;
      else if (name === "string") yield* this.#texts(own);
      else if (name === "number" || name === "integer") yield* this.#numbers(own, name === "integer");
    }
  }

  #texts({ format, minLength, maxLength, pattern }: JsonObject): string[] {
    const [least, most] = [minLength ?? 0, maxLength ?? Infinity] as [number, number];
    const bounds = [least, most].filter((length) => length > 1 && length <= 1_000).map((length) => "a".repeat(length));
    const sample = typeof format === "string" ? FORMATS[format] : undefined;
    const expression = typeof pattern === "string" ? patternOf(pattern) : undefined;
    const written = typeof pattern === "string" ? textsLike(pattern) : [];
    const all = [...(sample === undefined ? written : [sample]), ...this.#dictionary.texts, ...TEXTS, ...bounds];
    return all.filter(
      (text) => text.length >= least && text.length <= most && (expression === undefined || expression.test(text)),
    );
  }

  #numbers(
    { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject,
    isWhole: boolean,
  ): number[] {
    const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter((bound) => typeof bound === "number");
    const near = [...bounds, ...this.#dictionary.numbers].flatMap((from) => [from, from + 1, from - 1, from + 0.01]);
    const steps = typeof multipleOf === "number" ? [0, 1, 2, 10].map((times) => times * multipleOf) : [];
    const low = Math.max(...[minimum, exclusiveMinimum].filter((bound) => typeof bound === "number"), -1e15);
    const high = Math.min(...[maximum, exclusiveMaximum].filter((bound) => typeof bound === "number"), 1e15);
    return [...near, ...steps, 0, 1, -1, 2, 1000, 1e6].filter(
      (value) => value >= low && value <= high && (!isWhole || Number.isInteger(value)),
    );
  }
}

function isObject(schema: JsonValue): schema is JsonObject {
  return isJsonObject(schema) && (schema["type"] === "object" || isJsonObject(schema["properties"]));
}

const typeOf = (schema: JsonValue) => (isJsonObject(schema) ? schema["type"] : undefined);

function propertiesOf(schema: JsonObject): JsonObject {
  const { properties } = schema;
  return isJsonObject(properties) ? properties : {};
}

const isRequired = ({ required }: JsonObject, name: string): boolean =>
  Array.isArray(required) && required.includes(name);

/** True if a value can belong to a branch, by its type and its constant members. */
function fits(branch: JsonValue, value: JsonValue): boolean {
  if (!isObject(branch)) return typeOf(branch) === (Array.isArray(value) ? "array" : typeof value);
  if (!isJsonObject(value)) return false;
  return Object.entries(propertiesOf(branch)).every(
    ([name, part]) => !isJsonObject(part) || part["const"] === undefined || part["const"] === value[name],
  );
}

function patternOf(text: string): RegExp | undefined {
  try {
    return new RegExp(text, "u");
  } catch {
    return undefined;
  }
}
