/** The form field of a JSON Schema; `json` if no field can represent it. */
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
  | { kind: "number"; integer: boolean; minimum: number | undefined; maximum: number | undefined }
  | { kind: "choice"; values: readonly Scalar[] }
  | { kind: "list"; item: FieldShape; minItems: number; maxItems: number | undefined }
  | { kind: "group"; properties: readonly Property[] }
  | { kind: "json" };

type Scalar = string | number | boolean;

export interface Property {
  name: string;
  required: boolean;
  shape: FieldShape;
}

type Schema = Record<string, unknown>;

/** Schemas may be recursive: below this depth, values are entered as JSON. */
const DEEPEST = 5;

/** The form of a schema of arguments. The root is a group, or `json` if no form can represent it. */
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
  return { ...about, ...kindOf(rest, root, depth) };
}

function kindOf(schema: Schema, root: Schema, depth: number): Kind {
  const values = valuesOf(schema);
  if (values) return { kind: "choice", values };
  if ("anyOf" in schema || "oneOf" in schema || "allOf" in schema || "not" in schema) return { kind: "json" };
  switch (schema["type"]) {
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

/** An object with arbitrary property names, such as a record, is entered as JSON. */
function groupOf(schema: Schema, root: Schema, depth: number): Kind {
  const { properties, additionalProperties, required } = schema;
  const open = isObject(additionalProperties) || additionalProperties === true || "patternProperties" in schema;
  if (open) return { kind: "json" };
  const names = Array.isArray(required) ? required : [];
  const shapes = Object.entries(isObject(properties) ? properties : {}).map(([name, property]) => ({
    name,
    required: names.includes(name),
    shape: read(property, root, depth + 1),
  }));
  return { kind: "group", properties: shapes };
}

/** The values of an enumeration of scalars, written as `enum`, as `const`, or as alternatives of `const`. */
function valuesOf(schema: Schema): Scalar[] | undefined {
  const { enum: listed, const: only, anyOf, oneOf } = schema;
  const alternatives = anyOf ?? oneOf;
  const found = Array.isArray(listed)
    ? listed
    : only !== undefined
      ? [only]
      : Array.isArray(alternatives) && alternatives.every((one) => isObject(one) && one["const"] !== undefined)
        ? alternatives.map((one: Schema) => one["const"])
        : [];
  return found.length > 0 && found.every(isScalar) ? found : undefined;
}

/** Removes null from the allowed values and reports whether it was allowed. */
function withoutNull(schema: Schema, root: Schema): { rest: Schema; nullable: boolean } {
  const { type, anyOf, enum: listed } = schema;
  if (Array.isArray(type) && type.includes("null")) {
    const others = type.filter((one) => one !== "null");
    return { rest: { ...schema, type: others.length === 1 ? others[0] : others }, nullable: true };
  }
  if (Array.isArray(listed) && listed.includes(null))
    return { rest: { ...schema, enum: listed.filter((one) => one !== null) }, nullable: true };
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return { rest: schema, nullable: false };
  const others = anyOf.filter((one) => !isNull(one));
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

/** Decodes a part of a JSON pointer. Undefined for a part like `%zz`, for which `decodeURIComponent` throws. */
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

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** Drops the bounds of safe integers, which schema generators add to every integer. */
const boundOf = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
