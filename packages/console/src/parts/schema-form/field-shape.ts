import { isJsonObject } from "@patchbay/kit";

/** A JSON Schema's form field; `json` if no field can represent it. */
export type FieldShape = About & Kind;

interface About {
  title?: string | undefined;
  description?: string | undefined;
  /** The default that the runtime fills in for an absent property. */
  default?: unknown;
  nullable: boolean;
}

type Kind =
  | {
      kind: "text";
      minLength: number;
      maxLength: number | undefined;
      format: string | undefined;
      /** Undefined also for a pattern that the browser cannot read. */
      pattern: RegExp | undefined;
    }
  | {
      kind: "number";
      integer: boolean;
      minimum: number | undefined;
      maximum: number | undefined;
      /** Bounds that the value must not reach. */
      above: number | undefined;
      below: number | undefined;
      multipleOf: number | undefined;
    }
  | { kind: "choice"; values: readonly Scalar[] }
  /** A required property's only value: it has no field. */
  | { kind: "constant"; value: Scalar | null }
  | { kind: "union"; options: readonly Option[] }
  /** Properties with any name. */
  | { kind: "record"; value: FieldShape; names: RegExp | undefined }
  | { kind: "list"; item: FieldShape; minItems: number; maxItems: number | undefined }
  | { kind: "group"; properties: readonly Property[] }
  | { kind: "json" };

type Scalar = string | number | boolean;

/** One shape that a value may have. */
export interface Option {
  label: string;
  shape: FieldShape;
}

export interface Property {
  name: string;
  required: boolean;
  shape: FieldShape;
}

type Schema = Record<string, unknown>;

/** Schemas may be recursive: below this depth, values are entered as JSON. */
const DEEPEST = 5;

/** The form for an argument schema; `json` if no form can represent it. */
export function shapeOf(schema: Schema): FieldShape {
  return read(schema, schema, 0);
}

function read(given: unknown, root: Schema, depth: number): FieldShape {
  const schema = resolve(given, root);
  if (!schema || depth > DEEPEST) return { kind: "json", nullable: false };
  const { rest, nullable } = withoutNull(schema, root);
  const about: About = {
    title: textOf(schema["title"]),
    description: textOf(schema["description"]) ?? textOf(rest["description"]),
    default: schema["default"],
    nullable,
  };
  const kind = kindOf(rest, root, depth);
  // A field that is left empty is null; these have no such state.
  if (nullable && (kind.kind === "group" || kind.kind === "list" || kind.kind === "record"))
    return { ...about, kind: "union", options: optionsOf([NULL, { ...about, nullable: false, ...kind }]) };
  if (nullable && kind.kind === "union")
    return { ...about, kind: "union", options: optionsOf([NULL, ...shapesOf(kind)]) };
  return { ...about, ...kind };
}

const NULL: FieldShape = { kind: "constant", value: null, nullable: false };
const shapesOf = ({ options }: Kind & { kind: "union" }): FieldShape[] => options.map(({ shape }) => shape);

function kindOf(schema: Schema, root: Schema, depth: number): Kind {
  const values = valuesOf(schema);
  if (values) return { kind: "choice", values };
  if ("allOf" in schema || "not" in schema) return { kind: "json" };
  const { type, anyOf = schema["oneOf"] } = schema;
  if (Array.isArray(anyOf)) return unionOf(anyOf, schema, root, depth);
  if (Array.isArray(type))
    return unionOf(
      type.map((name: unknown) => ({ type: name })),
      schema,
      root,
      depth,
    );
  switch (type) {
    case "string":
      return {
        kind: "text",
        minLength: numberOf(schema["minLength"]) ?? 0,
        maxLength: numberOf(schema["maxLength"]),
        format: textOf(schema["format"]),
        pattern: patternOf(schema["pattern"]),
      };
    case "number":
    case "integer":
      return {
        kind: "number",
        integer: schema["type"] === "integer",
        minimum: boundOf(schema["minimum"]),
        maximum: boundOf(schema["maximum"]),
        above: boundOf(schema["exclusiveMinimum"]),
        below: boundOf(schema["exclusiveMaximum"]),
        multipleOf: numberOf(schema["multipleOf"]),
      };
    case "boolean":
      return { kind: "choice", values: [true, false] };
    case "array":
      return listOf(schema, root, depth);
    case "object":
      return groupOf(schema, root, depth);
    default:
      return { kind: "json" };
  }
}

function listOf(schema: Schema, root: Schema, depth: number): Kind {
  if (!isObject(schema["items"]) || "prefixItems" in schema) return { kind: "json" };
  return {
    kind: "list",
    item: read(schema["items"], root, depth + 1),
    minItems: numberOf(schema["minItems"]) ?? 0,
    maxItems: numberOf(schema["maxItems"]),
  };
}

/** An object with known and arbitrary property names is entered as JSON. */
function groupOf(schema: Schema, root: Schema, depth: number): Kind {
  const { properties, additionalProperties, required, propertyNames } = schema;
  const listed = Object.entries(isObject(properties) ? properties : {});
  const others = isObject(additionalProperties) ? additionalProperties : additionalProperties === true ? {} : undefined;
  if ("patternProperties" in schema || (others && listed.length > 0)) return { kind: "json" };
  const names = isObject(propertyNames) ? propertyNames : {};
  if (others && !Array.isArray(names["enum"]))
    return { kind: "record", value: read(others, root, depth + 1), names: patternOf(names["pattern"]) };
  const known = others ? (names["enum"] as unknown[]).map((name) => [String(name), others] as const) : listed;
  const needed = Array.isArray(required) ? required : [];
  const shapes = known.map(([name, property]) => {
    const shape = read(property, root, depth + 1);
    return { name, required: needed.includes(name), shape: needed.includes(name) ? withoutChoice(shape) : shape };
  });
  return { kind: "group", properties: shapes };
}

/** A required property with one value needs no field. */
function withoutChoice(shape: FieldShape): FieldShape {
  const [value, ...others] = shape.kind === "choice" && !shape.nullable ? shape.values : [];
  return value === undefined || others.length > 0 ? shape : { ...shape, kind: "constant", value };
}

/** A schema's alternatives, each with the keywords that apply to all. */
function unionOf(alternatives: readonly unknown[], schema: Schema, root: Schema, depth: number): Kind {
  const {
    anyOf: _anyOf,
    oneOf: _oneOf,
    title: _title,
    description: _description,
    default: _default,
    ...common
  } = schema;
  const shapes = alternatives.map((option) => {
    const alternative = resolve(option, root);
    return read(alternative && { ...common, ...alternative }, root, depth + 1);
  });
  if (shapes.every(({ kind }) => kind === "json")) return { kind: "json" };
  return { kind: "union", options: optionsOf(shapes) };
}

/** Labels by a constant property's value, by title, or by kind. */
function optionsOf(shapes: readonly FieldShape[]): Option[] {
  const labels = shapes.map(labelOf);
  return shapes.map((shape, i) => {
    const label = labels[i]!;
    return { label: labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} (${i + 1})`, shape };
  });
}

function labelOf(shape: FieldShape): string {
  if (shape.kind === "constant") return String(shape.value);
  if (shape.kind === "choice" && shape.values.length === 1) return String(shape.values[0]);
  const constant =
    shape.kind === "group" && shape.properties.find((property) => property.shape.kind === "constant")?.shape;
  if (constant && constant.kind === "constant") return String(constant.value);
  return shape.title ?? KIND_WORDS[shape.kind];
}

const KIND_WORDS: Record<FieldShape["kind"], string> = {
  text: "text",
  number: "number",
  choice: "choice",
  constant: "constant",
  union: "choice of types",
  list: "list",
  group: "object",
  record: "object",
  json: "JSON",
};

/** A scalar enumeration's values, written as `enum`, as `const`, or as `const` alternatives. */
function valuesOf(schema: Schema): Scalar[] | undefined {
  const { enum: listed, const: only, anyOf, oneOf } = schema;
  const alternatives = anyOf ?? oneOf;
  const found = Array.isArray(listed)
    ? listed
    : only !== undefined
      ? [only]
      : Array.isArray(alternatives) && alternatives.every((option) => isObject(option) && option["const"] !== undefined)
        ? alternatives.map((option: Schema) => option["const"])
        : [];
  return found.length > 0 && found.every(isScalar) ? found : undefined;
}

/** Removes null from the allowed values and reports whether it was allowed. */
function withoutNull(schema: Schema, root: Schema): { rest: Schema; nullable: boolean } {
  const { type, anyOf, enum: listed } = schema;
  if (Array.isArray(type) && type.includes("null")) {
    const others = type.filter((name) => name !== "null");
    return { rest: { ...schema, type: others.length === 1 ? others[0] : others }, nullable: true };
  }
  if (Array.isArray(listed) && listed.includes(null))
    return { rest: { ...schema, enum: listed.filter((value) => value !== null) }, nullable: true };
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return { rest: schema, nullable: false };
  const others = anyOf.filter((option) => !isNull(option));
  const rest = others.length === 1 ? resolve(others[0], root) : { ...schema, anyOf: others };
  return { rest: rest ?? {}, nullable: true };
}

const isNull = (schema: unknown): boolean => isObject(schema) && schema["type"] === "null";

/** Resolves a `$ref` within the document. Undefined if it cannot be resolved. */
function resolve(schema: unknown, root: Schema): Schema | undefined {
  if (!isObject(schema)) return undefined;
  const { $ref } = schema;
  if ($ref === undefined) return schema;
  if (typeof $ref !== "string" || !$ref.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of $ref.slice(2).split("/")) {
    const name = decodePointerPart(part);
    at = name !== undefined && isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isObject(at) && at["$ref"] === undefined ? { ...at, ...schema, $ref: undefined } : undefined;
}

/** Decodes one part of a JSON pointer. Undefined for a part like `%zz`, for which `decodeURIComponent` throws. */
function decodePointerPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

function patternOf(pattern: unknown): RegExp | undefined {
  if (typeof pattern !== "string") return undefined;
  try {
    return new RegExp(pattern, "u");
  } catch {
    return undefined;
  }
}

const isObject: (value: unknown) => value is Schema = isJsonObject;
const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** Drops safe integer bounds, which schema generators add to every integer. */
const boundOf = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
