import type { JsonObject, JsonValue } from "@patchbay/functions";
import { isJsonObject } from "@patchbay/kit";
import { followRef, textsLike } from "@patchbay/schema";

/** Levels below which only required members are written. */
const FULL_LEVELS = 4;
/** Levels beyond which a schema that refers to itself is given up. */
const MOST_LEVELS = 30;

const TEXTS: Readonly<Record<string, string>> = {
  date: "2026-01-02",
  "date-time": "2026-01-02T03:04:05Z",
  time: "03:04:05Z",
  email: "ada@example.com",
  uri: "https://example.com/a",
  url: "https://example.com/a",
  uuid: "7f1b5c1e-6f0a-4b43-9d6b-0a1f6f5f6c11",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  hostname: "example.com",
  byte: "YWJj",
};

/** A value that a JSON Schema accepts, with optional members too. */
export function sampleOf(root: JsonObject, schema: JsonValue = root, level = 0): JsonValue {
  if (!isJsonObject(schema)) return "text";
  const { $ref, allOf, anyOf, enum: values, items } = schema;
  if (level > MOST_LEVELS) return null;
  const inner = (part: JsonValue | undefined, deeper = 1) => sampleOf(root, part ?? true, level + deeper);
  if (typeof $ref === "string") return inner(followRef(root, $ref));
  if ("const" in schema) return schema["const"]!;
  if (Array.isArray(values)) return values.find((value) => value !== null) ?? null;
  if (Array.isArray(allOf) || Array.isArray(anyOf)) {
    const { allOf: _, anyOf: __, ...own } = schema;
    const choice = Array.isArray(anyOf)
      ? anyOf.find((part) => !isJsonObject(part) || part["type"] !== "null")
      : undefined;
    return inner(
      [...(Array.isArray(allOf) ? allOf : []), choice ?? {}].reduce<JsonObject>(
        (all, part) => merged(root, all, part),
        own,
      ),
    );
  }
  const type = [schema["type"] ?? ("properties" in schema ? "object" : "string")].flat().find((one) => one !== "null");
  if (type === "object") return sampleObject(schema, level, inner);
  if (type === "array") {
    // A form with one value looks like a scalar to the stand-in.
    const usual = schema["uniqueItems"] === true ? 1 : 2;
    const length = Math.min(Math.max(usual, Number(schema["minItems"] ?? 0)), Number(schema["maxItems"] ?? usual));
    return Array.from({ length }, () => inner(items));
  }
  if (type === "boolean") return true;
  return type === "integer" || type === "number" ? sampleNumber(schema) : sampleText(schema);
}

/** One schema for a value that both describe. */
function merged(root: JsonObject, all: JsonObject, part: JsonValue): JsonObject {
  if (!isJsonObject(part)) return all;
  const { $ref, ...own } = part;
  if (typeof $ref === "string") return merged(root, merged(root, all, followRef(root, $ref) ?? {}), own);
  const list = (name: string) => [all[name], own[name]].flatMap((value) => (Array.isArray(value) ? value : []));
  const members = (one: JsonObject) => (isJsonObject(one["properties"]) ? one["properties"] : {});
  const properties = { ...members(all), ...members(own) };
  return {
    ...all,
    ...own,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(list("required").length > 0 && { required: list("required") }),
    ...(list("allOf").length > 0 && { allOf: list("allOf") }),
  };
}

function sampleObject(schema: JsonObject, level: number, inner: (part: JsonValue) => JsonValue): JsonObject {
  const { properties, required } = schema;
  const needed = Array.isArray(required) ? required : [];
  const members = isJsonObject(properties) ? Object.entries(properties) : [];
  const written = members.filter(([name]) => level < FULL_LEVELS || needed.includes(name));
  return Object.fromEntries(written.map(([name, part]) => [name, inner(part)]));
}

function sampleNumber({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: JsonObject): number {
  const least = Math.max(Number(minimum ?? -Infinity), Number(exclusiveMinimum ?? -Infinity) + 1);
  const most = Math.min(Number(maximum ?? Infinity), Number(exclusiveMaximum ?? Infinity) - 1);
  const near = Math.min(Math.max(1, least), most);
  return multipleOf === undefined ? near : Math.ceil(near / Number(multipleOf)) * Number(multipleOf);
}

function sampleText({ format, pattern, minLength = 1, maxLength = Infinity }: JsonObject): string {
  const fits = (text: string) => text.length >= Number(minLength) && text.length <= Number(maxLength);
  if (typeof pattern === "string") {
    const matching = textsLike(pattern).filter((text) => new RegExp(pattern, "u").test(text));
    return matching.find(fits) ?? matching[0] ?? "text";
  }
  return (
    TEXTS[typeof format === "string" ? format : ""] ?? "text".padEnd(Number(minLength), "x").slice(0, Number(maxLength))
  );
}
