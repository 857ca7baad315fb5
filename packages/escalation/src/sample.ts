import { followRef, textsLike } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { anyMemberStep, itemStep, memberStep, ROOT } from "@patchbay/runtime/redaction/shape";

export interface SampleOptions {
  /** Selects the branch in `anyOf`, `oneOf`, `enum` and type lists, modulo their number. */
  variant: number;
  /** Generates every described property; otherwise the required ones only. */
  full: boolean;
  /** Takes the schema's examples in place of generated values, which its code may refuse. */
  examples?: boolean;
  /** The text or number to use at a place, if the schema allows it. `free`: the schema has no constraints there. */
  text(path: string, free: boolean): string;
  number(path: string): number;
}

/** Recursive schemas are cut off at this depth. */
const DEPTH = 8;

/** A value that a JSON Schema probably accepts. The caller validates it if that matters. */
export function sample(root: JsonObject, options: SampleOptions): JsonValue {
  function visit(schema: unknown, path: string, depth: number): JsonValue {
    if (!isJsonObject(schema)) return options.text(path, true);
    const { examples } = schema;
    if (options.examples && Array.isArray(examples) && examples.length > 0)
      return examples[options.variant % examples.length]!;
    if ("const" in schema) return schema["const"]!;
    if (Array.isArray(schema["enum"])) return schema["enum"][options.variant % schema["enum"].length]!;
    if (typeof schema["$ref"] === "string")
      return depth > DEPTH ? null : visit(followRef(root, schema["$ref"]), path, depth + 1);
    const branches = schema["anyOf"] ?? schema["oneOf"];
    if (Array.isArray(branches)) return visit(branches[options.variant % branches.length], path, depth + 1);
    if (Array.isArray(schema["allOf"])) return merged([schema, ...schema["allOf"]], path, depth);
    return byType(schema, path, depth);
  }

  function merged(parts: readonly JsonValue[], path: string, depth: number): JsonValue {
    const withoutParts = (part: JsonObject) =>
      Object.fromEntries(Object.entries(part).filter(([key]) => key !== "allOf"));
    const values = parts.filter(isJsonObject).map((part) => visit(withoutParts(part), path, depth + 1));
    const objects = values.filter(isJsonObject);
    return objects.length > 0 ? Object.assign({}, ...objects) : (values[0] ?? null);
  }

  function byType(schema: JsonObject, path: string, depth: number): JsonValue {
    switch (typeOf(schema, options.variant)) {
      case "object":
        return depth > DEPTH ? {} : object(schema, path, depth);
      case "array":
        return depth > DEPTH ? [] : array(schema, path, depth);
      case "number":
        return sampleNumber(schema, () => options.number(path));
      case "integer":
        return Math.ceil(sampleNumber(schema, () => options.number(path)));
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return sampleText(schema, (free) => options.text(path, free));
    }
  }

  function object(schema: JsonObject, path: string, depth: number): JsonObject {
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
    const required = Array.isArray(schema["required"]) ? schema["required"] : [];
    const names = Object.keys(properties).filter((name) => options.full || required.includes(name));
    const members = names.map((name) => [name, visit(properties[name], memberStep(path, name), depth + 1)] as const);
    const others = schema["additionalProperties"];
    const extra = options.full && isJsonObject(others) && Object.keys(others).length > 0;
    return Object.fromEntries(extra ? [...members, ["key", visit(others, anyMemberStep(path), depth + 1)]] : members);
  }

  function array(schema: JsonObject, path: string, depth: number): JsonValue[] {
    const tuple = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
    const placed = tuple.map((item, index) => visit(item, itemStep(path, index), depth + 1));
    const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
    const wanted = Math.max(least, options.full && schema["items"] !== undefined && schema["maxItems"] !== 0 ? 1 : 0);
    const rest = Array.from({ length: Math.max(0, wanted - placed.length) }, () =>
      visit(schema["items"] ?? {}, itemStep(path, undefined), depth + 1),
    );
    return [...placed, ...rest];
  }

  return visit(root, ROOT, 0);
}

function typeOf(schema: JsonObject, variant: number): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type[variant % type.length];
  if (type !== undefined) return type;
  if ("properties" in schema || "additionalProperties" in schema) return "object";
  return "items" in schema || "prefixItems" in schema ? "array" : "string";
}

/** Texts by format. `*` is replaced with the wanted text. */
const BY_FORMAT: Record<string, string> = {
  email: "*@example.test",
  "idn-email": "*@example.test",
  uri: "https://example.test/*",
  url: "https://example.test/*",
  "uri-reference": "https://example.test/*",
  hostname: "*.example.test",
  uuid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  guid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  time: "03:04:05Z",
  duration: "P1D",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};

/** A text for a schema: the wanted one if the schema allows it, else another valid one. */
function sampleText(schema: JsonObject, wanted: (free: boolean) => string): string {
  const { format, pattern } = schema;
  const template = typeof format === "string" ? BY_FORMAT[format] : undefined;
  const free = template === undefined && pattern === undefined && schema["maxLength"] === undefined;
  const text = template?.replace("*", () => wanted(false)) ?? fitted(wanted(free), schema);
  return typeof pattern === "string" ? ([text, ...textsLike(pattern)].find(compile(pattern)) ?? text) : text;
}

function fitted(text: string, { minLength, maxLength }: JsonObject): string {
  const long = typeof minLength === "number" ? text.padEnd(minLength, ".") : text;
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long;
}

function compile(pattern: string): (text: string) => boolean {
  try {
    const expression = new RegExp(pattern, "u");
    return (text) => expression.test(text);
  } catch {
    return () => false;
  }
}

/** A number for a schema: the wanted one if the schema allows it, else the nearest valid one. */
function sampleNumber(schema: JsonObject, wanted: () => number): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const low =
    typeof minimum === "number" ? minimum : typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : undefined;
  const high =
    typeof maximum === "number" ? maximum : typeof exclusiveMaximum === "number" ? exclusiveMaximum - 1 : undefined;
  const step = typeof multipleOf === "number" ? multipleOf : undefined;
  const first = low ?? (high === undefined ? wanted() : high);
  const fits =
    high === undefined ? Math.max(first, low ?? first, wanted()) : Math.max(low ?? high, Math.min(high, first));
  return step === undefined ? fits : Math.ceil(fits / step) * step;
}
