import { FunctionError, type JsonObject, type JsonValue } from "@patchbay/functions";
import { isJsonObject, present } from "@patchbay/kit";
import { membersOf, textOf } from "./document.ts";
import { type Body, isJsonType, type Operation, type Parameter } from "./operation.ts";

/** A request, before credentials. */
export interface ApiRequest {
  method: string;
  url: URL;
  headers: Headers;
  body: string | FormData | Uint8Array<ArrayBuffer> | null;
}

/**
 * The request for a call. Throws `FunctionError` for values that the model can correct: a value in a path must be one segment,
 * so that it reaches no other operation.
 */
export function toRequest({ method, path, parameters, body }: Operation, input: JsonObject, base: string): ApiRequest {
  const given = (place: string) =>
    parameters.flatMap((parameter) => {
      const value = input[parameter.member] ?? null;
      if (parameter.in !== place || value === null) return [];
      return [{ parameter, value: parameter.isJson ? JSON.stringify(value) : value }];
    });
  const inPath = new Map(given("path").map(({ parameter, value }) => [parameter.name, pathText(parameter, value)]));
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const segment = inPath.get(name);
    if (segment === undefined) throw refused(`${name} is part of a path, so it may not be null`);
    return segment;
  });
  // Two values may be one segment.
  if (filled.split("/").some((segment) => /^\.{1,2}$/.test(segment)))
    throw refused("the path has . or .. as a segment");
  const query = given("query").flatMap(({ parameter, value }) => pairs(parameter.name, value, parameter));
  const url = new URL(base + filled + (query.length > 0 ? `?${query.join("&")}` : ""));
  const headers = new Headers({ accept: "application/json, text/*;q=0.5, */*;q=0.1" });
  for (const { parameter, value } of given("header"))
    try {
      headers.set(parameter.name, joined(value, parameter, text));
    } catch {
      throw refused(`${parameter.member} has a character that a header cannot have`);
    }
  const cookies = given("cookie").flatMap(({ parameter, value }) => pairs(parameter.name, value, parameter));
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  const content = body && contentOf(body, input);
  const sent = content === undefined ? null : encode(body!, content);
  // A form with parts writes its own boundary.
  if (sent !== null && !(sent instanceof FormData))
    headers.set("content-type", body!.type.replace("*/*", "application/json"));
  return { method, url, headers, body: sent };
}

const refused = (why: string): FunctionError => new FunctionError(`The call was not sent: ${why}.`);

const text = (value: JsonValue): string => (typeof value === "object" ? JSON.stringify(value) : String(value));
const encoded = (value: JsonValue): string => encodeURIComponent(text(value));

function pathText(parameter: Parameter, value: JsonValue): string {
  const values = isJsonObject(value) ? Object.values(value) : [value].flat();
  const parts = values.flatMap((one) => text(one).split(/[\\/]/));
  if (values.some((one) => one === "") || parts.some((part) => part === "." || part === ".."))
    throw refused(`${parameter.member} is part of a path, so it may not be empty, . or ..`);
  return joined(value, parameter, encoded);
}

/** A value as one text: `a,b` for a list, `x,1,y,2` or `x=1,y=2` for an object. */
function joined(value: JsonValue, { explode }: How, write: (value: JsonValue) => string, delimiter = ","): string {
  if (!isJsonObject(value)) return [value].flat().map(write).join(delimiter);
  return Object.entries(value)
    .map(([key, one]) => write(key) + (explode ? "=" : delimiter) + write(one))
    .join(delimiter);
}

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

type How = Pick<Parameter, "style" | "explode">;

/** Percent-encoded parts for a query, a cookie or a form. */
function pairs(name: string, value: JsonValue, how: How): string[] {
  const isList = Array.isArray(value);
  const inner = isList || isJsonObject(value) ? Object.entries(value) : [];
  if (how.style === "deepObject" && typeof value === "object")
    return inner.flatMap(([key, one]) => pairs(`${name}[${key}]`, one, how));
  if (how.explode && typeof value === "object")
    return inner.map(([key, one]) => `${encoded(isList ? name : key)}=${encoded(one)}`);
  return [`${encoded(name)}=${joined(value, how, encoded, DELIMITERS[how.style])}`];
}

/** A body's value. Undefined for one that may be absent, and is. */
function contentOf({ members, isRequired }: Body, input: JsonObject): JsonValue | undefined {
  if (members === undefined) return input["body"];
  const given = Object.entries(input).filter(([name]) => members.includes(name));
  return given.length > 0 || isRequired ? Object.fromEntries(given) : undefined;
}

function encode({ type, encoding, files }: Body, content: JsonValue): ApiRequest["body"] {
  if (isJsonType(type)) return JSON.stringify(content);
  const isForm = type.startsWith("application/x-www-form-urlencoded");
  if (!isForm && !type.startsWith("multipart/")) return toFile(text(content)).bytes;
  const form = new FormData();
  const sent = membersOf(content).flatMap(([name, value]) => {
    const own = encoding?.[name];
    const { style, explode, contentType } = isJsonObject(own) ? own : {};
    if (isForm) {
      const how = { style: textOf(style) || "form", explode: explode !== false };
      return pairs(name, isJsonObject(value) && style === undefined ? text(value) : value, how);
    }
    for (const one of [value].flat()) {
      const stated = textOf(contentType).split(",")[0] || (typeof one === "object" ? "application/json" : undefined);
      const file = files.includes(name) || DATA_URL.test(text(one)) ? toFile(text(one)) : undefined;
      const options = present({ type: file?.type ?? stated });
      if (file) form.append(name, new Blob([file.bytes], options), name);
      else if (stated === undefined) form.append(name, text(one));
      else form.append(name, new Blob([text(one)], options));
    }
    return [];
  });
  return isForm ? sent.join("&") : form;
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[^;,]*)*;base64,/;

/** A file's bytes, as a model writes them. */
function toFile(written: string): { bytes: Uint8Array<ArrayBuffer>; type?: string } {
  const [head, type] = DATA_URL.exec(written) ?? [];
  const bytes = head === undefined ? Buffer.from(written) : Buffer.from(written.slice(head.length), "base64");
  return { bytes: new Uint8Array(bytes), ...present({ type }) };
}
