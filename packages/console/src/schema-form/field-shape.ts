/** What a JSON Schema asks for, as far as a form can show it; `json` where it cannot. */
export type FieldShape = About & Kind;

interface About {
  title?: string | undefined;
  description?: string | undefined;
  /** What the owner's side fills in where the member is left out. */
  default?: unknown;
  nullable: boolean;
}

type Kind =
  | { kind: "text"; minLength: number; maxLength: number | undefined; format: string | undefined }
  | { kind: "number"; integer: boolean; minimum: number | undefined; maximum: number | undefined }
  | { kind: "choice"; values: readonly Scalar[] }
  | { kind: "list"; item: FieldShape; minItems: number; maxItems: number | undefined }
  | { kind: "group"; members: readonly Member[] }
  | { kind: "json" };

type Scalar = string | number | boolean;

export interface Member {
  name: string;
  required: boolean;
  shape: FieldShape;
}

type Schema = Record<string, unknown>;

/** Schemas may refer to themselves: deeper than this they are written as JSON. */
const DEEPEST = 5;

/** The form of a schema of arguments. Its root is a group unless only JSON can say it. */
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

/** Objects with names of their own, such as records, are no groups. */
function groupOf(schema: Schema, root: Schema, depth: number): Kind {
  const { properties, additionalProperties, required } = schema;
  const open = isObject(additionalProperties) || additionalProperties === true || "patternProperties" in schema;
  if (open) return { kind: "json" };
  const names = Array.isArray(required) ? required : [];
  const members = Object.entries(isObject(properties) ? properties : {}).map(([name, member]) => ({
    name,
    required: names.includes(name),
    shape: read(member, root, depth + 1),
  }));
  return { kind: "group", members };
}

/** The values of an enumeration of scalars, also where they stand as constants side by side. */
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

/** Takes null out of what may stand there. */
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

/** The schema itself, or the one of the same document that it refers to. */
function resolve(schema: unknown, root: Schema): Schema | undefined {
  if (!isObject(schema)) return undefined;
  const { $ref } = schema;
  if ($ref === undefined) return schema;
  if (typeof $ref !== "string" || !$ref.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of $ref.slice(2).split("/")) {
    const name = memberNamed(part);
    at = name !== undefined && isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isObject(at) && at["$ref"] === undefined ? { ...at, ...schema, $ref: undefined } : undefined;
}

/** The name that a part of a JSON pointer stands for. Undefined for a part like `%zz`, for which decoding throws. */
function memberNamed(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** Bounds of what a double can count say nothing to a person. */
const boundOf = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
