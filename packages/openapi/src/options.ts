import type { CallContext, Log } from "@patchbay/functions";
import { checkForeignOptions, type ForeignOverride } from "@patchbay/functions/sources";
import { isJsonObject } from "@patchbay/kit";

/**
 * Credentials by the name of their security scheme in the document: a bearer token, an access token of OAuth 2 or an API key; for
 * HTTP Basic a name and a password, or only a name.
 */
export type Credentials = Readonly<Record<string, string | { username: string; password: string } | undefined>>;

/** An owner's decisions about operations, in place of the document's statements. The other members match `defineFunction`. */
export interface OperationOverride extends ForeignOverride {
  /**
   * Members of the answer that only these roles see, by path: `{ "customer.email": ["support"], "items[].cost": ["manager"] }`.
   * Each path must be in the document's schema.
   */
  visibleTo?: Readonly<Record<string, readonly string[]>>;
}

/** Options for {@link openapiFunctions}. It refuses unknown options. */
export interface OpenApiOptions {
  /** Prefix for function names (`shop` turns operation `getOrder` into `shop_getOrder`); names the API in lock file, errors and logs. */
  name: string;
  /** An OpenAPI 3.0 or 3.1 document: an object, a file (JSON or YAML, relative to the service file's folder) or a URL. It is read once. */
  document: string | URL | object;
  /**
   * Where the API is. Default: the first server of the document, with the defaults of its variables. Required if the document
   * comes from a URL and its server has another origin.
   */
  server?: string | URL;
  /**
   * The roles that may call each operation, as in `defineFunction`, by `operationId` or by method and path (`"GET /orders/{id}"`).
   * A key with `*` stands for all operations that match it, and a longer one comes before a shorter one. An operation that no key
   * names is not offered.
   */
  roles: Readonly<Record<string, "everyone" | readonly string[]>>;
  /**
   * By the same keys. All that match an operation apply, and a longer one comes before a shorter one. For data-flow rules, an
   * operation is `foreign` and `returns` untrusted data, errors included; for an API of your own, say
   * `"*": { foreign: false, returns: "trusted" }`.
   */
  override?: Readonly<Record<string, OperationOverride>>;
  /** Credentials, which only `server` receives. A function receives each call, to choose them by its caller. */
  auth?: Credentials | ((call: CallContext) => Credentials | Promise<Credentials>);
  /** Further headers. A function receives each call. */
  headers?: Headers | ((call: CallContext) => Headers | Promise<Headers>);
  /**
   * The file with the definitions that the owner accepted, relative to the service file's folder. An operation that differs
   * from it is not offered. `patchbay pin` writes the file. Default: none, and every definition is accepted.
   */
  lock?: string | URL;
  /** Sends the requests, for example through a proxy. Default: `fetch`. */
  fetch?: typeof fetch;
  /** Default: the log of the command that loads the service; otherwise JSON lines on standard error. */
  log?: Log;
}

type Headers = Readonly<Record<string, string>>;

const OPTIONS = ["name", "document", "server", "roles", "override", "auth", "headers", "lock", "fetch", "log"];

/** Throws `DefinitionError` for options that would fail later, or grant more than they appear to. */
export function checkOptions(options: OpenApiOptions): void {
  const { document, override = {}, auth = {} } = options;
  const must = checkForeignOptions("API", options, OPTIONS);
  must(typeof document === "string" || isJsonObject(document), "document must be a file, a URL or an object.");
  must(isJsonObject(override), "override must be an object by operation.");
  must(
    isJsonObject(auth) || typeof auth === "function",
    "auth must be an object of credentials by security scheme, or a function that returns one.",
  );
}

/** The values whose keys name an operation, the most general first. A key without `*` names one operation. */
export function matching<T>(
  entries: Readonly<Record<string, T>>,
  { name, method, path }: { name: string; method: string; path: string },
): T[] {
  const isNamed = (key: string) => {
    const pattern = key.split("*").map((part) => part.replaceAll(/[^\w/ -]/g, String.raw`\$&`));
    return [name, `${method} ${path}`].some((own) => new RegExp(`^${pattern.join(".*")}$`).test(own));
  };
  const rank = (key: string) => (key.includes("*") ? key.length : Number.POSITIVE_INFINITY);
  const named = Object.entries(entries).filter(([key]) => isNamed(key));
  return named.toSorted(([a], [b]) => rank(a) - rank(b)).map(([, value]) => value);
}
