import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { $RefParser } from "@apidevtools/json-schema-ref-parser";
import { DefinitionError, type JsonObject, type JsonValue } from "@patchbay/functions";
import { serviceFolder } from "@patchbay/functions/sources";
import { isJsonObject } from "@patchbay/kit";
import { followRef } from "@patchbay/schema";

/** An OpenAPI document in one piece. */
export interface Document {
  root: JsonObject;
  /** Where it was read. Undefined for an object. */
  location: URL | undefined;
}

/**
 * Reads a document, and the files that it refers to: a local document refers to local files, another one to its own origin. Throws `DefinitionError` if it cannot be read, or is not OpenAPI 3.
 */
export async function readDocument(document: string | URL | object, where: string): Promise<Document> {
  const location = locationOf(document);
  try {
    const root = location === undefined ? (JSON.parse(JSON.stringify(document)) as JsonObject) : await load(location);
    refuseOther(root);
    return { root, location };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const at = location ? ` ${location.href}` : "";
    throw new DefinitionError(`${where}: the document${at} cannot be used: ${reason}`, { cause });
  }
}

function locationOf(document: string | URL | object): URL | undefined {
  if (document instanceof URL) return document;
  if (typeof document !== "string") return undefined;
  if (/^(https?|file):/.test(document)) return new URL(document);
  return pathToFileURL(resolve(serviceFolder() ?? process.cwd(), document));
}

async function load(location: URL): Promise<JsonObject> {
  const isFile = location.protocol === "file:";
  const isOfOrigin = ({ url }: { url: string }) => URL.parse(url)?.origin === location.origin;
  const options = {
    resolve: isFile ? { http: false } : { file: false, http: { safeUrlResolver: false, canRead: isOfOrigin } },
    resolveExcludedPathMatcher: isText,
    bundle: { excludedPathMatcher: isText },
  };
  const path = isFile ? fileURLToPath(location) : location.href;
  const root = await $RefParser.parse(path, options);
  // A document in one file may have references without a target, which matter only to their operations.
  return (refersToFiles(root) ? await $RefParser.bundle(path, options) : root) as JsonObject;
}

/** Texts, examples and extensions often refer to files that are not published. */
const isText = (path: string): boolean =>
  /^#?\/(?:info|tags|externalDocs)\/|(?<!\/properties)\/(?:examples?|x-[^/]*)(?:\/|$)/.test(path);

function refersToFiles(value: unknown, path = ""): boolean {
  if (typeof value !== "object" || value === null || isText(path)) return false;
  return Object.entries(value).some(([name, member]) =>
    name === "$ref" && typeof member === "string" ? !member.startsWith("#") : refersToFiles(member, `${path}/${name}`),
  );
}

function refuseOther({ openapi, swagger, paths }: JsonObject): void {
  if (swagger !== undefined) throw new Error("it is Swagger 2.0. Convert it to OpenAPI 3, as swagger2openapi does.");
  if (typeof openapi !== "string" || !/^3\.[0-2]\b/.test(openapi))
    throw new Error(`its member "openapi" is ${JSON.stringify(openapi ?? null)}, and must begin with 3.0 or 3.1.`);
  if (!isJsonObject(paths)) throw new Error("it has no paths.");
}

/** The object that a node is, or refers to. Undefined for anything else. Throws for a reference without a target. */
export function follow(root: JsonObject, node: JsonValue | undefined): JsonObject | undefined {
  let found = node;
  for (let steps = 0; isJsonObject(found) && typeof found["$ref"] === "string"; steps++) {
    const ref = found["$ref"];
    found = followRef(root, ref);
    if (found === undefined || steps > MOST_STEPS) throw new Error(`its reference ${ref} has no target`);
  }
  return isJsonObject(found) ? found : undefined;
}

const MOST_STEPS = 100;

/** An object's members. Empty for anything else. */
export const membersOf = (value: JsonValue | undefined): [string, JsonValue][] =>
  isJsonObject(value) ? Object.entries(value) : [];

/** A list's items. Empty for anything else. */
export const itemsOf = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);

/** A text. Empty for anything else. */
export const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** An operation in a document, not yet read. */
export interface Endpoint {
  /** Its `operationId`. Without a unique one, a name from its method and path. */
  name: string;
  /** Such as `GET`. */
  method: string;
  path: string;
  operation: JsonObject;
  /** The path item, whose parameters and servers apply too. */
  item: JsonObject;
}

/** HEAD, OPTIONS and TRACE requests return nothing that a model can use. */
const METHODS = ["get", "put", "post", "delete", "patch"];

/** All operations in a document. */
export function endpointsOf(root: JsonObject): Endpoint[] {
  const found = membersOf(root["paths"]).flatMap(([path, node]) => {
    const item = follow(root, node) ?? {};
    return METHODS.flatMap((method) => {
      const operation = item[method];
      return isJsonObject(operation) ? [{ method: method.toUpperCase(), path, operation, item }] : [];
    });
  });
  const ids = found.map(({ operation }) => operation["operationId"]);
  const isOwn = (id: JsonValue | undefined): id is string =>
    typeof id === "string" && id !== "" && ids.indexOf(id) === ids.lastIndexOf(id);
  return found.map((one) => {
    const id = one.operation["operationId"];
    const made = `${one.method.toLowerCase()}_${one.path}`.replaceAll(/[^A-Za-z0-9]+/g, "_").replace(/_$/, "");
    return { ...one, name: isOwn(id) ? id : made };
  });
}
