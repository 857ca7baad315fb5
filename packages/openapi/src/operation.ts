import type { JsonObject, JsonValue } from "@patchbay/functions";
import { isJsonObject, present } from "@patchbay/kit";
import { type Endpoint, follow, itemsOf, membersOf, textOf } from "./document.ts";
import { FILE_NOTE, type createSchemas } from "./schemas.ts";

/** Where an input member goes. */
export interface Parameter {
  member: string;
  name: string;
  in: string;
  style: string;
  explode: boolean;
  /** True for a value that is sent as JSON text. */
  isJson?: boolean;
}

/** How the other input members are sent. */
export interface Body {
  type: string;
  isRequired: boolean;
  /** Input members that are body members. Undefined: the body is the member `body`. */
  members?: readonly string[];
  encoding?: JsonObject;
  /** Form members that are files. */
  files: readonly string[];
}

/** How one operation is called: what a lock file holds, and what a request is made from. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly title?: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  /** Alternatives, each the security schemes that it needs at once. */
  readonly security: readonly (readonly Scheme[])[];
}

/** A security scheme, by its name in the document. */
interface Scheme {
  name: string;
  scheme: { type: string; kind: string; in: string; name: string };
}

type Write = ReturnType<typeof createSchemas>;

/** Reads an operation. Throws an error with the reason for one that cannot be called. */
export function readOperation(root: JsonObject, endpoint: Endpoint, write: Write): Operation {
  const { name, method, path, operation, item } = endpoint;
  const { summary, description, deprecated, requestBody, responses } = operation;
  const security = readSecurity(root, operation["security"] ?? root["security"]);
  const nodes = [...itemsOf(item["parameters"]), ...itemsOf(operation["parameters"])];
  const input: Input = { properties: {}, required: [] };
  const parameters = readParameters(root, nodes, security).map((one) => readParameter(root, one, input));
  for (const [whole, part] of path.matchAll(/\{([^}]+)\}/g))
    if (!parameters.some((one) => one.in === "path" && one.name === part))
      throw new Error(`its path has ${whole}, which no parameter describes`);
  const body = method === "GET" ? undefined : readBody(root, follow(root, requestBody), input);
  const texts = [textOf(summary), textOf(description)].filter((text) => text.trim());
  const required = [...new Set(input.required)];
  const outputSchema = readOutput(root, responses, write);
  return {
    name,
    method,
    path,
    ...present({
      title: textOf(summary) || undefined,
      deprecated: deprecated === true || undefined,
      body,
      outputSchema,
    }),
    description: texts.join("\n\n") || `${method} ${path}`,
    inputSchema: write(
      { type: "object", properties: input.properties, ...(required.length > 0 && { required }) },
      "input",
    ),
    parameters,
    security,
  };
}

/** The input as it is read. */
interface Input {
  properties: JsonObject;
  required: string[];
}

function readSecurity(root: JsonObject, security: JsonValue | undefined): Scheme[][] {
  const { securitySchemes } = follow(root, root["components"]) ?? {};
  const schemes = new Map(membersOf(securitySchemes));
  return itemsOf(security).map((alternative) =>
    membersOf(alternative).map(([name]) => {
      const scheme = follow(root, schemes.get(name)) ?? {};
      const [type, kind, place, own] = ["type", "scheme", "in", "name"].map((member) => textOf(scheme[member]));
      return { name, scheme: { type: type!, kind: kind!, in: place!, name: own! } };
    }),
  );
}

interface Named {
  name: string;
  in: string;
}

/** A parameter in the document. */
interface Described extends Named {
  style: string;
  [member: string]: JsonValue;
}

/** Headers that a request has anyway, or that would change whom it reaches. */
const OWN_HEADERS = /^(accept|authorization|connection|content-length|content-type|cookie|host|transfer-encoding)$/i;
const PLACES = ["path", "query", "header", "cookie"];

/** An operation's parameters, without credentials. Its own replace those that all operations on its path share. */
function readParameters(root: JsonObject, nodes: readonly JsonValue[], security: Scheme[][]): Described[] {
  const found = nodes.map((node) => {
    const parameter = follow(root, node) ?? {};
    const [name, place, style] = ["name", "in", "style"].map((member) => textOf(parameter[member]));
    return { ...parameter, name: name!, in: place!, style: style! };
  });
  const isSet = (one: Named) =>
    (one.in === "header" && OWN_HEADERS.test(one.name)) ||
    security.flat().some(({ scheme }) => keyOf(scheme).toLowerCase() === keyOf(one).toLowerCase());
  const all = [...new Map(found.filter((one) => !isSet(one)).map((one) => [keyOf(one), one])).values()];
  const unknown = all.find((one) => !PLACES.includes(one.in) || /label|matrix/.test(one.style));
  if (unknown) throw new Error(`its parameter ${unknown.name} has a form that is not supported`);
  return all.toSorted((a, b) => PLACES.indexOf(a.in) - PLACES.indexOf(b.in));
}

const keyOf = (one: Named): string => `${one.in} ${one.name}`;

/** A name that every provider accepts. */
const MEMBER = /^(?!__)[A-Za-z0-9_.-]{1,64}$/;

/** Adds a parameter to the input: `filter[status]` as `filter_status`, and one whose name is taken with its place. */
function readParameter(root: JsonObject, parameter: Described, { properties, required }: Input): Parameter {
  const { name, in: place, schema, content, description, example } = parameter;
  const letters = name.replaceAll(/[^A-Za-z0-9.-]+/g, "_").replaceAll(/^_|_$/g, "");
  const own = letters.slice(0, 56) || "value";
  let member = own;
  for (let count = 1; member in properties; count++) member = count === 1 ? `${own}_${place}` : `${own}_${count}`;
  const media = follow(root, membersOf(content)[0]?.[1]);
  // What an answer only reads may be a parameter.
  const { readOnly: _, ...written } = follow(root, schema ?? media?.["schema"]) ?? {};
  // As a number, a long one would lose digits.
  const isLong = written["type"] === "integer" && written["format"] === "int64";
  properties[member] = {
    ...written,
    ...(isLong && { type: ["integer", "string"], pattern: "^-?[0-9]+$" }),
    // Twilio has `DateSent<` and `DateSent>`.
    description: `${own === name ? "" : `Sent as ${name}. `}${textOf(description ?? written["description"])}`,
    ...present({ example }),
  };
  if (place === "path" || parameter["required"] === true) required.push(member);
  const style = parameter.style || (place === "query" || place === "cookie" ? "form" : "simple");
  const explode = parameter["explode"] ?? style === "form";
  return { member, name, in: place, style, explode: explode === true, ...(content && { isJson: true }) };
}

/** Of several media types, the first that a model writes best. */
const MEDIA_TYPES = [
  /^application\/([\w.+-]+\+)?json\b|^\*\/\*/,
  /^application\/x-www-form-urlencoded/,
  /^multipart\//,
  /^text\//,
  /./,
];

export const isJsonType = (type: string): boolean => MEDIA_TYPES[0]!.test(type);

function readBody(root: JsonObject, requestBody: JsonObject | undefined, input: Input): Body | undefined {
  const contents = membersOf(requestBody?.["content"]);
  const form = MEDIA_TYPES.findIndex((form) => contents.some(([type]) => form.test(type)));
  const [type, media] = contents.find(([type]) => MEDIA_TYPES[form]!.test(type)) ?? [];
  if (type === undefined || !isJsonObject(media)) return undefined;
  const text = { type: "string", description: `${type}. ${FILE_NOTE}` };
  const written = form < 3 && isJsonObject(media["schema"]) ? media["schema"] : form < 3 ? {} : text;
  const schema = follow(root, written)!;
  const flat = flatten(root, schema);
  const members = membersOf(flat?.properties ?? schema["properties"]);
  const { encoding } = media;
  const how = {
    type,
    isRequired: requestBody?.["required"] === true,
    ...(isJsonObject(encoding) && { encoding }),
    files: members.filter(([, member]) => isFile(root, member)).map(([name]) => name),
  };
  if (flat && members.length > 0 && members.every(([name]) => MEMBER.test(name) && !(name in input.properties))) {
    Object.assign(input.properties, flat.properties);
    input.required.push(...flat.required);
    return { ...how, members: members.map(([name]) => name) };
  }
  if ("body" in input.properties) throw new Error("it has a parameter and a body of the name body");
  input.properties["body"] = written;
  if (how.isRequired) input.required.push("body");
  return how;
}

function isFile(root: JsonObject, node: JsonValue): boolean {
  const { format, contentMediaType, items } = follow(root, node) ?? {};
  return format === "binary" || contentMediaType !== undefined || (items !== undefined && isFile(root, items));
}

/** An `allOf` within another one, at most. */
const MOST_LEVELS = 10;

/** What an object schema lists, also in `allOf`. Undefined for a schema that does more. */
function flatten(root: JsonObject, schema: JsonObject, level = 0): Input | undefined {
  const { type = "object", properties = {}, required, additionalProperties = false, allOf, ...others } = schema;
  const isOther = ["anyOf", "oneOf", "not", "if", "patternProperties", "nullable"].some((keyword) => keyword in others);
  if (type !== "object" || isOther || additionalProperties !== false || level > MOST_LEVELS) return undefined;
  const all: Input = { properties: { ...(properties as JsonObject) }, required: itemsOf(required).map(String) };
  for (const node of itemsOf(allOf)) {
    const part = flatten(root, follow(root, node) ?? {}, level + 1);
    if (part === undefined || Object.keys(part.properties).some((name) => name in all.properties)) return undefined;
    Object.assign(all.properties, part.properties);
    all.required.push(...part.required);
  }
  return all;
}

/**
 * The schema for successful answers. Undefined if the document does not describe them. An answer without JSON is a text: its
 * content, or a note.
 */
function readOutput(root: JsonObject, responses: JsonValue | undefined, write: Write): JsonObject | undefined {
  const all = membersOf(responses).filter(([status]) => /^[2d]/.test(status));
  const successful = all.filter(([status]) => all.length === 1 || status !== "default");
  const contents = successful.map(([, response]) => membersOf(follow(root, response)?.["content"]));
  const types = contents.flat().map(([type]) => type);
  if (types.length > 0 && types.every((type) => type.startsWith("text/event-stream")))
    throw new Error("its answer is a stream of events");
  const json = contents.flat().filter(([type]) => isJsonType(type));
  const schemas = new Map<string, JsonObject>();
  for (const [, media] of json) {
    const schema = isJsonObject(media) ? media["schema"] : undefined;
    if (!isJsonObject(schema)) return undefined;
    schemas.set(JSON.stringify(schema), schema);
  }
  const isBare = successful.some(([status], i) => contents[i]!.length === 0 && !/^20[45]$/.test(status));
  if (isBare && schemas.size === 0) return undefined;
  const hasText = contents.some((content) => content.length === 0) || json.length < types.length;
  const kinds = [...schemas.values(), ...(hasText ? [{ type: "string" }] : [])];
  if (kinds.length === 0) return undefined;
  return write(kinds.length === 1 ? kinds[0]! : { anyOf: kinds }, "output");
}
