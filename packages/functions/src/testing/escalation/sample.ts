import { followRef, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { anyMemberStep, itemStep, memberStep, ROOT } from "../../redaction/paths.ts";
import { sampleNumber, sampleText } from "./sample-scalar.ts";

export interface SampleOptions {
  /** Which branch of a choice is taken, counted round. */
  variant: number;
  /** Every member that is described, or those alone that must be there. */
  full: boolean;
  /** The text or number for a place, where the schema lets it stand. `free`: any other text may stand there as well. */
  text(path: string, free: boolean): string;
  number(path: string): number;
}

/** Deeper than this a schema that holds itself is cut off. */
const DEPTH = 8;

/** A value that a JSON Schema most likely accepts; whoever needs to know asks the schema. */
export function sample(root: JsonObject, options: SampleOptions): JsonValue {
  function visit(schema: unknown, path: string, depth: number): JsonValue {
    if (!isJsonObject(schema)) return options.text(path, true);
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
