import type { IncomingMessage } from "node:http";
import { isLoopback } from "@patchbay/kit";
import { ClientDoor } from "@patchbay/protocol";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { askedAddress, type Exchange, json, noContent } from "../kernel/exchange.ts";
import type { KeylessAccess } from "../accounts/keyless.ts";
import type { HttpDeps } from "./deps.ts";
import { bearer, isJwt, METADATA } from "./keyless-caller.ts";

const EXPOSED =
  "X-Run-Id, X-Thread-Id, X-Trace-Id, X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, Mcp-Session-Id";
const ALLOWED_HEADERS =
  "Content-Type, X-API-Key, Authorization, Accept, Idempotency-Key, Last-Event-ID, X-Request-Id, X-On-Disconnect, X-Patchbay-Caller, X-Patchbay-Role, X-Patchbay-Context, X-Patchbay-Thread, Prefer, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, User-Agent, Cache-Control, traceparent, tracestate";

/**
 * Lets pages from the configured origins read the response. Adds no header when no origin is configured, except that
 * then pages from all origins may use client tokens, agents that need no key, and the metadata for these. A page never
 * reads the response to a key.
 */
export async function allowOrigin(
  exchange: Exchange,
  configured: readonly string[],
  keyless: Pick<KeylessAccess, "opens"> | undefined,
): Promise<void> {
  const { c, headers } = exchange;
  const origin = c.req.header("Origin");
  const isPage = origin !== undefined && pageAdapterOf(c.req.path) !== undefined;
  const preflight = c.req.method === "OPTIONS" && c.req.header("Access-Control-Request-Method") !== undefined;
  if (isPage && !preflight && !hasClientToken(exchange) && !(await needsNoKey(exchange, keyless))) return;
  const isForAny = isPage || c.req.path.startsWith(METADATA);
  const origins = isForAny && configured.length === 0 ? ["*"] : configured;
  if (origins.length === 0) return;
  headers["Vary"] = "Origin";
  if (origin === undefined || !isAllowed(origin, origins)) return;
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = EXPOSED;
}

/** The adapter of a route that accepts client tokens; a token must allow this adapter. */
export function pageAdapterOf(path: string): ClientDoor | undefined {
  const [, mcp, chat] = /^\/agents\/[^/]+\/(?:(mcp)|(ui-stream)(?:\/.*)?)$/.exec(path) ?? [];
  return ClientDoor.safeParse(mcp ?? chat).data;
}

/** True also for ended tokens: a page must be able to read why it is refused. A key in the same request decides. */
const hasClientToken = ({ c }: Exchange): boolean =>
  c.req.header("X-API-Key") === undefined && /^Bearer +patchbay_ct_/i.test(c.req.header("Authorization") ?? "");

/** True for a request without a key to an agent that needs none: a page sends a token of its user, or reads where to get one. */
async function needsNoKey({ c }: Exchange, keyless: Pick<KeylessAccess, "opens"> | undefined): Promise<boolean> {
  const authorization = c.req.header("Authorization");
  if (!keyless || c.req.header("X-API-Key") !== undefined) return false;
  if (authorization !== undefined && !isJwt(bearer(authorization))) return false;
  return await keyless.opens(c.req.param("agent_id") ?? "").catch(() => false);
}

const isAllowed = (origin: string, origins: readonly string[]): boolean =>
  origins.includes(origin) || origins.includes("*");

/** The response to a CORS preflight; undefined for other requests and for origins that are not configured. */
export function preflight(exchange: Exchange, methods: readonly string[]): Response | undefined {
  const { c, headers } = exchange;
  if (c.req.method !== "OPTIONS" || headers["Access-Control-Allow-Origin"] === undefined) return undefined;
  if (c.req.header("Access-Control-Request-Method") === undefined) return undefined;
  headers["Access-Control-Allow-Methods"] = methods.join(", ");
  headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS;
  headers["Access-Control-Max-Age"] = "600";
  return noContent(exchange);
}

export type Guarded = Pick<HttpDeps, "host" | "publicUrl" | "corsOrigins" | "trustProxy">;

/**
 * Prevents foreign web pages from using the local variant, which has no API key. On a loopback address the Host header
 * must name this machine, because a page can resolve its own name to 127.0.0.1. Rejects pages from origins that are not
 * configured.
 */
export function guardLocal(exchange: Exchange, guarded: Guarded): void {
  const why = foreign(exchange, guarded, "The local variant");
  if (why !== undefined) throw new ServiceError("invalid_request", why);
}

/** MCP's answer to a foreign web page, by the `guardLocal` rules; undefined for every other client. */
export function refuseForeign(exchange: Exchange, guarded: Guarded): Response | undefined {
  const message = foreign(exchange, guarded, "MCP");
  if (message === undefined) return undefined;
  return json(exchange, 403, { jsonrpc: "2.0", id: null, error: { code: REFUSED, message } });
}

/** A code that JSON-RPC reserves for servers. */
const REFUSED = -32_000;

/**
 * Why a server on a loopback address refuses a request: its Host header does not name this machine, so it comes from a
 * page that resolved its own name to 127.0.0.1 and would read the answer as its own. Undefined for every other request.
 */
function foreignHost(
  asked: string,
  { host = "127.0.0.1", publicUrl }: Pick<Guarded, "host" | "publicUrl">,
  what = "This server",
): string | undefined {
  const name = hostname(asked);
  if (!isLoopback(host) || isLoopback(name) || name === host) return undefined;
  if (publicUrl !== undefined && name === new URL(publicUrl).hostname) return undefined;
  return `The Host ${quoted(asked)} is not served. ${what} answers to localhost; start the server with --host to serve another name.`;
}

/**
 * For every path of a server, including its console and metrics, except MCP, which refuses in its own form. HTTP/1.0
 * needs no Host header, and browsers always send one.
 */
export const refuseForeignHosts =
  (guarded: Pick<Guarded, "host" | "publicUrl">) =>
  ({ headers: { host }, url = "" }: Pick<IncomingMessage, "headers" | "url">): string | undefined =>
    host === undefined || /^\/agents\/[^/]+\/mcp(\?|$)/.test(url) ? undefined : foreignHost(host, guarded);

function foreign(exchange: Exchange, guarded: Guarded, what: string): string | undefined {
  const { c } = exchange;
  const { publicUrl, corsOrigins } = guarded;
  const fault = foreignHost(c.req.header("Host") ?? "", guarded, what);
  if (fault !== undefined) return fault;

  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  const origin = c.req.header("Origin");
  if (origin === undefined || isAllowed(origin, corsOrigins)) return undefined;
  // A page that may read the answer.
  if (exchange.headers["Access-Control-Allow-Origin"] !== undefined) return undefined;
  if (origin === own?.origin || isOwn(origin, askedAddress(exchange, guarded))) return undefined;
  return `Pages of the origin ${quoted(origin)} may not use ${what === "MCP" ? what : "the local variant"}. Start the server with --cors-origin ORIGIN to allow them.`;
}

/** True for this server's own pages. The loopback names count as one host. */
function isOwn(origin: string, asked: URL): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  if (page.protocol !== asked.protocol || page.port !== asked.port) return false;
  return page.hostname === asked.hostname || (isLoopback(page.hostname) && isLoopback(asked.hostname));
}

const quoted = (header: string): string => JSON.stringify(header.slice(0, 200));

function hostname(host: string): string {
  return host.replace(/:\d+$/, "").toLowerCase();
}
