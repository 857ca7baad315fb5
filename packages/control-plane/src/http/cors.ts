import type { Exchange } from "./deps.ts";
import { noContent } from "./reply.ts";

const EXPOSED = "X-Run-Id, X-Thread-Id, X-Request-Id, RateLimit, RateLimit-Policy, Retry-After";
const ASKED_HEADERS =
  "Content-Type, X-API-Key, Authorization, Accept, Idempotency-Key, Last-Event-ID, X-Request-Id, X-On-Disconnect, Cache-Control";

/** Adds what lets a page of a named origin read the response. Says nothing at all when no origin is named. */
export function allowOrigin({ c, headers }: Exchange, origins: readonly string[]): void {
  if (origins.length === 0) return;
  headers["Vary"] = "Origin";
  const origin = c.req.header("Origin");
  if (origin === undefined || !(origins.includes(origin) || origins.includes("*"))) return;
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = EXPOSED;
}

/** The answer to a browser that asks first; undefined when this request is none, or its origin is not named. */
export function preflight(exchange: Exchange, methods: readonly string[]): Response | undefined {
  const { c, headers } = exchange;
  if (c.req.method !== "OPTIONS" || headers["Access-Control-Allow-Origin"] === undefined) return undefined;
  if (c.req.header("Access-Control-Request-Method") === undefined) return undefined;
  headers["Access-Control-Allow-Methods"] = methods.join(", ");
  headers["Access-Control-Allow-Headers"] = ASKED_HEADERS;
  headers["Access-Control-Max-Age"] = "600";
  return noContent(exchange);
}
