import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { accepts, list, resolveSchema, typeOf } from "./schema.ts";
import { conceptsOf, isStopWord, nameConcepts, nameWords } from "./words.ts";

/** What sort of value a parameter takes, judged by its schema first and by its name second. */
export type ParameterKind =
  | "id" | "number" | "boolean" | "enum" | "email" | "url" | "uuid" | "date" | "time" | "phone" | "zip"
  | "name" | "first_name" | "last_name" | "expression" | "text" | "search" | "word" | "opaque"; // prettier-ignore

/** One value that a call needs: a leaf of the input schema, at any depth. */
export interface Parameter {
  /** Member names from the root; the last is the parameter's own. */
  path: string[];
  name: string;
  kind: ParameterKind;
  /** True for a list of such values. */
  many: boolean;
  required: boolean;
  schema: JsonObject;
  /** The schema of one value: that of the items for a list. */
  one: JsonObject;
  root: JsonObject;
  /** Concepts of the name, and those that say what it is about (`order_id` is about an order). */
  concepts: string[];
  entity: string[];
  /** `to` for the new or later one of two like parameters, `from` for the other. */
  direction?: "from" | "to";
  /** Forms of the examples that its schema or description gives. */
  shapes: string[];
}

const GENERIC = new Set(
  nameConcepts("id ids identifier key code number no num uuid ref reference value list array input"),
);
const FROM = new Set(nameConcepts("from old source origin start since after begin current min minimum"));
const TO = new Set(nameConcepts("to new target destination end until before replacement due max maximum"));
const MAX_LEAVES = 60;

/** The form of a value: it distinguishes digits and letters, but not their number. */
export function shapeOf(value: string): string {
  if (/^\d{1,4}$/u.test(value)) return "0"; // a count or a year, not the long number of a record
  return value
    .replace(/\p{Ll}+/gu, "a")
    .replace(/\d+/gu, "9")
    .replace(/(?:a[_-])+a(?=[_-]9)/gu, "a_a");
}

/** The leaves of a function's input schema, required ones first. */
export function readParameters(schema: JsonObject): Parameter[] {
  const leaves: Parameter[] = [];
  const walk = (node: JsonObject, path: string[], required: boolean) => {
    const needed = new Set(list(node.required));
    for (const [name, raw] of Object.entries(isJsonObject(node.properties) ? node.properties : {})) {
      const at = resolveSchema(raw, schema);
      const isNeeded = required && needed.has(name);
      if (leaves.length >= MAX_LEAVES) return;
      if (typeOf(at) === "object" && isJsonObject(at.properties) && path.length < 4)
        walk(at, [...path, name], isNeeded);
      else leaves.push(readLeaf(at, schema, [...path, name], isNeeded));
    }
  };
  walk(resolveSchema(schema, schema), [], true);
  return leaves.toSorted((a, b) => Number(b.required) - Number(a.required));
}

function readLeaf(schema: JsonObject, root: JsonObject, path: string[], required: boolean): Parameter {
  const name = path.at(-1) ?? "";
  const many = typeOf(schema) === "array";
  const one = many ? resolveSchema(schema.items, root) : schema;
  const concepts = nameConcepts(path.length > 1 && nameWords(name).length === 1 ? path.slice(-2).join("_") : name);
  const entity = concepts.filter((concept) => !GENERIC.has(concept) && !FROM.has(concept) && !TO.has(concept));
  const direction = concepts.some((concept) => TO.has(concept))
    ? "to"
    : concepts.some((concept) => FROM.has(concept))
      ? "from"
      : undefined;
  return {
    path,
    name,
    many,
    required,
    schema,
    one,
    root,
    concepts,
    entity: entity.filter((word) => !isStopWord(word)),
    shapes: examplesOf(schema, one).map(shapeOf),
    kind: kindOf(one, name),
    ...(direction && { direction }),
  };
}

const BY_FORMAT = new Map<string, ParameterKind>(Object.entries({
  email: "email", uri: "url", url: "url", "uri-reference": "url", uuid: "uuid", date: "date", "date-time": "date", time: "time",
} as const)); // prettier-ignore

/** By the last words of a name; the first line that fits decides. */
const BY_NAME: readonly [RegExp, ParameterKind][] = [
  [/^(?:e_?mail|email_address|.*_e?mail|mail)s?$/u, "email"],
  [/(?:^|_)(?:url|uri|link|website|webhook)s?$/u, "url"],
  [/(?:^|_)(?:uuid|guid)s?$/u, "uuid"],
  [/(?:^|_)(?:zip|zip_code|zipcode|postcode|postal_code|postal)$/u, "zip"],
  [/(?:^|_)(?:phone|mobile|telephone|phone_number|fax)$/u, "phone"],
  [/(?:^|_)(?:date|day|deadline|birthday|starts?_at|ends?_at|due|since|until|from_date|to_date)s?$/u, "date"],
  [/(?:^|_)time$/u, "time"],
  [/(?:^|_)(?:first|given)_?name$/u, "first_name"],
  [/(?:^|_)(?:last|family|sur)_?name$/u, "last_name"],
  [/(?:^|_)(?:ids?|key|code|number|no|ref|reference|sku|iban|identifier)s?$/u, "id"],
  [/(?:^|_)(?:expression|formula|equation|calculation)$/u, "expression"],
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
  const byFormat = typeof schema.format === "string" ? BY_FORMAT.get(schema.format) : undefined;
  if (byFormat) return byFormat;
  const words = nameWords(name).join("_").toLowerCase();
  const byName = BY_NAME.find(([pattern]) => pattern.test(words))?.[1];
  return byName ?? (typeof schema.pattern === "string" ? "id" : "word");
}

function examplesOf(...schemas: JsonObject[]): string[] {
  const examples: JsonValue[] = schemas.flatMap((schema) => [
    ...list(schema.examples),
    schema.example ?? null,
    schema.default ?? null,
  ]);
  for (const { description } of schemas) {
    if (typeof description !== "string") continue;
    for (const match of description.matchAll(/["'`“‘]([^"'`”’\s]{2,60})["'`”’]|(#\w{2,}|\b[a-z]\w*_\w*\d+\b)/giu))
      examples.push(match[1] ?? match[2] ?? "");
  }
  return examples.filter((example): example is string => typeof example === "string" && /[\d#]/u.test(example));
}

/** What a parameter is, for the person who must supply it. */
export function describeParameter({ schema, one }: Parameter): string {
  const members = list(one.enum).map((member) => `\`${typeof member === "string" ? member : JSON.stringify(member)}\``);
  const text = typeof schema.description === "string" ? schema.description : "";
  return [text.trim().replace(/\.$/u, ""), members.length > 0 ? `one of ${members.join(", ")}` : ""]
    .filter(Boolean)
    .join("; ");
}

/** The concepts of a schema's own words: of parameters, their descriptions and enum members. */
export function parameterConcepts(parameter: Parameter): string[] {
  const description = typeof parameter.schema.description === "string" ? parameter.schema.description : "";
  const members = list(parameter.one.enum).filter((member) => typeof member === "string");
  return [...parameter.concepts, ...conceptsOf(description), ...members.flatMap(conceptsOf)];
}

/** Puts values in their places. Groups that must be there are, even when empty; optional ones of which a part lacks are not. */
export function buildArguments(
  values: readonly (readonly [Parameter, JsonValue])[],
  parameters: readonly Parameter[],
  root: JsonObject,
): JsonObject {
  const built: JsonObject = {};
  for (const { path } of parameters)
    if (path.length > 1 && list(root.required).includes(path[0] ?? "")) define(built, path[0] ?? "", {});
  for (const [parameter, value] of values) setAt(built, parameter.path, value);
  dropPartial(built, root, parameters);
  return built;
}

function setAt(target: JsonObject, path: readonly string[], value: JsonValue): void {
  let at = target;
  for (const name of path.slice(0, -1)) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    const member = typeof next === "object" && next !== null && !Array.isArray(next) ? next : {};
    define(at, name, member);
    at = member;
  }
  define(at, path.at(-1) ?? "", value);
}

/** Sets an own member whatever its name: an owner may call a parameter `__proto__`. */
function define(target: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Leaves out an optional group of which only part was found. */
function dropPartial(built: JsonObject, root: JsonObject, parameters: readonly Parameter[]): void {
  for (const [name, member] of Object.entries(built)) {
    const grouped = parameters.some(({ path }) => path.length > 1 && path[0] === name);
    if (grouped && !accepts({ properties: root.properties ?? {} }, { [name]: member }, root)) delete built[name];
  }
}
