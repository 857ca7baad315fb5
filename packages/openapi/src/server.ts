import { type CallContext, DefinitionError, type JsonObject } from "@patchbay/functions";
import { isJsonObject } from "@patchbay/kit";
import { type Document, type Endpoint, itemsOf, membersOf, textOf } from "./document.ts";
import type { Operation } from "./operation.ts";
import type { Credentials, OpenApiOptions } from "./options.ts";
import type { ApiRequest } from "./request.ts";

/** The address before each path, without a slash at its end. Throws `DefinitionError` without one that the owner chose. */
export function baseOf({ root, location }: Document, { server }: OpenApiOptions, where: string): string {
  const remote = location?.protocol === "file:" ? undefined : location;
  const written = server === undefined ? (serversOf(root)[0] ?? "") : String(server);
  const base = URL.parse(written, remote?.href);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new DefinitionError(
      `${where}: ${JSON.stringify(written)} is not an address. Give server: "https://api.example.com".`,
    );
  if (server === undefined && remote && base.origin !== remote.origin)
    throw new DefinitionError(
      `${where}: the document of ${remote.origin} sends calls to ${base.origin}. If that is right, confirm it with server: ${JSON.stringify(base.href)}.`,
    );
  return (base.origin + base.pathname).replace(/\/+$/, "");
}

/** The addresses in `servers`, with default values for their variables. */
function serversOf({ servers }: JsonObject): string[] {
  return itemsOf(servers).flatMap((server) => {
    const { url, variables } = isJsonObject(server) ? server : {};
    const values = membersOf(variables).map(([name, one]) => [name, isJsonObject(one) ? textOf(one["default"]) : ""]);
    const given = new Map(values as [string, string][]);
    return textOf(url).replaceAll(/\{([^}]+)\}/g, (whole, name: string) => given.get(name) || whole) || [];
  });
}

/** Throws for an operation with another server: the credentials are not for it. */
export function refuseOtherServer(root: JsonObject, { operation, item }: Endpoint, base: string): void {
  const own = [operation, item].map(serversOf).find((servers) => servers.length > 0);
  const normal = (url: string) => URL.parse(url, `${base}/`)?.href.replace(/\/+$/, "");
  const known = [base, ...serversOf(root)].map(normal);
  if (own && root["servers"] !== undefined && !own.some((url) => known.includes(normal(url))))
    throw new Error(`its server is ${own[0]}. Use openapiFunctions again with that server`);
}

/** Throws for an operation that needs credentials for which `auth` has no entry. */
export function refuseWithoutAuth({ security }: Operation, { auth = {}, headers }: OpenApiOptions): void {
  if (typeof auth === "function" || headers !== undefined || security.length === 0) return;
  if (security.some((schemes) => schemes.every(({ name }) => name in auth))) return;
  const needed = security.map((schemes) => schemes.map(({ name }) => name).join(" and ")).join(", or ");
  throw new Error(`it needs credentials. Give auth an entry for ${needed}`);
}

/** A shorter text may be in any word. */
const SECRET_UNITS = 6;

/** Adds headers and credentials to a request. Returns the secret texts among them. */
export async function authorize(
  { url, headers }: ApiRequest,
  { security }: Operation,
  { auth = {}, headers: further = {} }: OpenApiOptions,
  call: CallContext,
): Promise<string[]> {
  for (const [name, value] of Object.entries(typeof further === "function" ? await further(call) : further))
    headers.set(name, value);
  const credentials: Credentials = typeof auth === "function" ? await auth(call) : auth;
  const chosen = security.find((schemes) => schemes.every(({ name }) => credentials[name] !== undefined));
  const absent = security.flat().find(({ name }) => name in credentials);
  if (!chosen && absent) throw new TypeError(`auth.${absent.name} is undefined, so the request was not sent`);
  const secrets = (chosen ?? []).flatMap(({ name, scheme }) => {
    const given = credentials[name]!;
    const isBasic = /basic/i.test(scheme.kind);
    // An API key is often a name without a password.
    const { username, password } = typeof given === "string" ? { username: given, password: "" } : given;
    const plain = isBasic ? `${username}:${password}` : username;
    const secret = isBasic ? Buffer.from(plain).toString("base64") : plain;
    const named = `${encodeURIComponent(scheme.name)}=${encodeURIComponent(secret)}`;
    if (scheme.type !== "apiKey") headers.set("authorization", `${isBasic ? "Basic" : "Bearer"} ${secret}`);
    else if (scheme.in === "query") url.search += `${url.search === "" ? "" : "&"}${named}`;
    else if (scheme.in === "header") headers.set(scheme.name, secret);
    else headers.append("cookie", named);
    return [secret, username, password];
  });
  return secrets.filter((secret) => secret.length >= SECRET_UNITS);
}
