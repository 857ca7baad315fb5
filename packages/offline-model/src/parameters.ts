import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { list, resolveSchema, typeOf } from "./schema.ts";
import { nameConcepts, nameWords } from "./words.ts";

/** What a parameter takes, by its schema first and by its name second. */
export type ParameterKind =
  | "id" | "number" | "boolean" | "enum" | "email" | "url" | "uuid" | "date" | "phone" | "zip" | "name"
  | "first_name" | "last_name" | "expression" | "text" | "search" | "word" | "opaque"; // prettier-ignore

/** A member of an input schema. Objects within are `opaque`. */
export interface Parameter {
  name: string;
  kind: ParameterKind;
  /** True for a list. */
  many: boolean;
  required: boolean;
  schema: JsonObject;
  /** The schema for one value: for a list that of its items. */
  one: JsonObject;
  root: JsonObject;
  concepts: string[];
  /** Concepts for what it identifies or describes: an order for `order_id`. */
  entity: string[];
  /** Forms of the examples in its schema and description. */
  shapes: string[];
}

const GENERIC = new Set(
  nameConcepts("id identifier key code number no num uuid ref reference value list array input from to old new"),
);
const MAX_PARAMETERS = 60;

/** The form of a value: runs of digits and letters, whatever their length. Numbers with at most four digits do not identify records. */
export function shapeOf(value: string): string {
  if (/^\d{1,4}$/u.test(value)) return "0";
  return value
    .replace(/\p{Ll}+/gu, "a")
    .replace(/\d+/gu, "9")
    .replace(/(?:a[_-])+a(?=[_-]9)/gu, "a_a");
}

/** Required parameters first. */
export function readParameters(root: JsonObject): Parameter[] {
  const { properties, required } = resolveSchema(root, root);
  const needed = new Set(list(required));
  return Object.entries(isJsonObject(properties) ? properties : {})
    .slice(0, MAX_PARAMETERS)
    .map(([name, raw]): Parameter => {
      const schema = resolveSchema(raw, root);
      const many = typeOf(schema) === "array";
      const one = many ? resolveSchema(schema.items, root) : schema;
      const concepts = nameConcepts(name);
      const entity = concepts.filter((concept) => !GENERIC.has(concept));
      const shapes = examplesIn(schema, one).map(shapeOf);
      return {
        name,
        kind: kindOf(one, name),
        many,
        required: needed.has(name),
        schema,
        one,
        root,
        concepts,
        entity,
        shapes,
      };
    })
    .toSorted((a, b) => Number(b.required) - Number(a.required));
}

const BY_FORMAT = new Map<JsonValue | undefined, ParameterKind>(Object.entries({
  email: "email", uri: "url", url: "url", uuid: "uuid", date: "date", "date-time": "date",
} as const)); // prettier-ignore

/** The first line that matches the end of the name decides. */
const BY_NAME: readonly [RegExp, ParameterKind][] = [
  [/(?:^|_)e?_?(?:mail|email_address)s?$/u, "email"],
  [/(?:^|_)(?:url|uri|link|website)s?$/u, "url"],
  [/(?:^|_)(?:zip|zip_code|zipcode|postcode|postal_code)$/u, "zip"],
  [/(?:^|_)(?:phone|mobile|telephone|phone_number)$/u, "phone"],
  [/(?:^|_)(?:date|day|deadline|birthday|due|since|until)s?$/u, "date"],
  [/(?:^|_)(?:first|given)_?name$/u, "first_name"],
  [/(?:^|_)(?:last|family|sur)_?name$/u, "last_name"],
  [/(?:^|_)(?:ids?|key|code|number|no|ref|reference|sku|identifier)s?$/u, "id"],
  [/(?:^|_)(?:expression|formula|calculation)$/u, "expression"],
  [/(?:^|_)(?:query|q|search|keywords?|term|topic|question|prompt)$/u, "search"],
  [/(?:^|_)(?:reason|summary|thought|text|message|body|content|note|comment|description|details?|feedback|subject|title)s?$/u, "text"],
  [/(?:^|_)(?:name|contact|person|attendee|assignee|owner)s?$/u, "name"],
]; // prettier-ignore

function kindOf(schema: JsonObject, name: string): ParameterKind {
  if (Array.isArray(schema.enum) || schema.const !== undefined) return "enum";
  const type = typeOf(schema);
  if (type === "number" || type === "integer") return "number";
  if (type === "boolean") return "boolean";
  if (type !== "string" && type !== undefined) return "opaque";
  const words = nameWords(name).join("_").toLowerCase();
  const byName = BY_NAME.find(([pattern]) => pattern.test(words))?.[1];
  return BY_FORMAT.get(schema.format) ?? byName ?? (typeof schema.pattern === "string" ? "id" : "word");
}

const descriptionOf = ({ description }: JsonObject): string => (typeof description === "string" ? description : "");

/** Example ids in the keywords and, with quotes or a form such as `user_1`, in the description. */
function examplesIn(...schemas: JsonObject[]): string[] {
  const quoted = /["'`“‘]([^"'`”’\s]{2,60})["'`”’]|(#\w{2,}|\b[a-z]\w*_\w*\d+\b)/giu;
  return schemas
    .flatMap((schema): JsonValue[] => [
      ...list(schema.examples),
      ...[...descriptionOf(schema).matchAll(quoted)].map((match) => match[1] ?? match[2] ?? ""),
    ])
    .filter((example): example is string => typeof example === "string" && /[\d#]/u.test(example));
}

/** For the person who must supply it. */
export function describeParameter({ name, schema, one }: Parameter): string {
  const members = list(one.enum).map((member) => `\`${typeof member === "string" ? member : JSON.stringify(member)}\``);
  const choices = members.length > 0 ? `one of ${members.join(", ")}` : "";
  const described = [descriptionOf(schema).trim().replace(/\.$/u, ""), choices].filter(Boolean).join("; ");
  return `\`${name}\`${described ? `: ${described}` : ""}`;
}
