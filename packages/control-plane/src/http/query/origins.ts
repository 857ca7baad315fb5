import { ServiceError } from "../../ports/service-error.ts";
import { askedAddress, type Exchange, json, noContent } from "../kernel/exchange.ts";
import type { HttpDeps } from "./deps.ts";

const EXPOSED =
  "X-Run-Id, X-Thread-Id, X-Trace-Id, X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, Mcp-Session-Id";
const ALLOWED_HEADERS =
  "Content-Type, X-API-Key, Authorization, Accept, Idempotency-Key, Last-Event-ID, X-Request-Id, X-On-Disconnect, X-Patchbay-Caller, X-Patchbay-Role, X-Patchbay-Context, X-Patchbay-Thread, Prefer, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, User-Agent, Cache-Control, traceparent, tracestate";

/** Lets pages of the configured origins read the response. Adds no header when no origin is configured. */
export function allowOrigin(exchange: Exchange, origins: readonly string[]): void {
  const { c, headers } = exchange;
  if (c.req.header("Origin") !== undefined && isForPages(c.req.path)) {
    const preflight = c.req.method === "OPTIONS" && c.req.header("Access-Control-Request-Method") !== undefined;
    if (preflight || hasClientToken(exchange)) allowPages(exchange, origins);
    return;
  }
  if (origins.length === 0) return;
  headers["Vary"] = "Origin";
  const origin = c.req.header("Origin");
  if (origin === undefined || !isAllowed(origin, origins)) return;
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = EXPOSED;
}

/** The routes that take client tokens. */
export const isForPages = (path: string): boolean => /^\/agents\/[^/]+\/(mcp|ui-stream(\/.*)?)$/.test(path);

/** True also for tokens that have ended: a page must be able to read why it is refused. A key that comes with the token decides. */
const hasClientToken = ({ c }: Exchange): boolean =>
  c.req.header("X-API-Key") === undefined && /^Bearer +patchbay_ct_/i.test(c.req.header("Authorization") ?? "");

/** Pages of all origins may use client tokens, or those of the configured ones. A page never reads the response to a key. */
function allowPages({ c, headers }: Exchange, origins: readonly string[]): void {
  headers["Vary"] = "Origin";
  if (origins.length > 0 && !isAllowed(c.req.header("Origin")!, origins)) return;
  headers["Access-Control-Allow-Origin"] = c.req.header("Origin")!;
  headers["Access-Control-Expose-Headers"] = EXPOSED;
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

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

type Guarded = Pick<HttpDeps, "host" | "publicUrl" | "corsOrigins" | "trustProxy">;

/**
 * Keeps foreign web pages from using the local variant, which has no API key. On a loopback address the Host header must name this
 * machine, because a page can resolve its own name to 127.0.0.1. Pages of origins that are not configured are rejected.
 */
export function guardLocal(exchange: Exchange, guarded: Guarded): void {
  const why = foreign(exchange, guarded, "The local variant");
  if (why !== undefined) throw new ServiceError("invalid_request", why);
}

/** The answer of MCP to a foreign web page, by the rules of `guardLocal`; undefined for every other client. */
export function refuseForeign(exchange: Exchange, guarded: Guarded): Response | undefined {
  // A client token may be used by the pages of any origin, where none are configured.
  const isForAny = hasClientToken(exchange) && guarded.corsOrigins.length === 0;
  const corsOrigins = isForAny ? ["*"] : guarded.corsOrigins;
  const message = foreign(exchange, { ...guarded, corsOrigins }, "MCP");
  if (message === undefined) return undefined;
  return json(exchange, 403, { jsonrpc: "2.0", id: null, error: { code: REFUSED, message } });
}

/** A code that JSON-RPC leaves to servers. */
const REFUSED = -32_000;

function foreign(exchange: Exchange, guarded: Guarded, what: string): string | undefined {
  const { c } = exchange;
  const { host, publicUrl, corsOrigins } = guarded;
  const asked = c.req.header("Host") ?? "";
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  const bound = host ?? "127.0.0.1";
  const name = hostname(asked);
  if (LOOPBACK.test(bound) && !LOOPBACK.test(name) && name !== bound && name !== own?.hostname)
    return `The Host ${quoted(asked)} is not served. ${what} answers to localhost; start the server with --host to serve another name.`;

  const origin = c.req.header("Origin");
  if (origin === undefined || isAllowed(origin, corsOrigins)) return undefined;
  if (origin === own?.origin || isOwn(origin, askedAddress(exchange, guarded))) return undefined;
  return `Pages of the origin ${quoted(origin)} may not use ${what === "MCP" ? what : "the local variant"}. Start the server with --cors-origin ORIGIN to allow them.`;
}

/** True for a page of this server. The names of the loopback address are one host. */
function isOwn(origin: string, asked: URL): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  if (page.protocol !== asked.protocol || page.port !== asked.port) return false;
  return page.hostname === asked.hostname || (LOOPBACK.test(page.hostname) && LOOPBACK.test(asked.hostname));
}

const quoted = (header: string): string => JSON.stringify(header.slice(0, 200));

function hostname(host: string): string {
  return host.replace(/:\d+$/, "").toLowerCase();
}
