import { randomUUID } from "@patchbay/kit/time";
import type { HttpBindings } from "@hono/node-server";
import { present } from "@patchbay/kit";
import { type TraceContext, traceOfHeaders } from "@patchbay/protocol";
import type { Context } from "hono";
import { routePath } from "hono/route";

export type HttpEnv = { Bindings: Partial<HttpBindings> };

/** What a request's log line says about its sender and its run, as far as the handler knows. */
export interface RequestFacts {
  agentId?: string;
  /** The key or token, and the label that people gave it. */
  keyId?: string;
  keyLabel?: string;
  memberId?: string;
  role?: string;
  runId?: string;
}

/** One request and its pending response. */
export interface Exchange {
  readonly c: Context<HttpEnv>;
  readonly requestId: string;
  /** Headers of the response, also of a failure. */
  readonly headers: Record<string, string>;
  /** Values of `Set-Cookie`, one header each. A failure sets none. */
  readonly cookies: string[];
  readonly facts: RequestFacts;
}

export type Handler = (exchange: Exchange) => Promise<Response> | Response;

/** A well-formed request id; any other from a client is replaced. */
export const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's request id if it is well-formed, otherwise a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;
}

/** What a run stores from the request that starts it: its id, the path of its route, and the client's span. */
export interface Origin {
  requestId: string;
  adapter: string;
  trace?: TraceContext;
}

export const originOf = ({ c, requestId }: Pick<Exchange, "c" | "requestId">): Origin => ({
  requestId,
  adapter: routePath(c),
  ...present({ trace: traceOfHeaders((name) => c.req.header(name)) }),
});

/** The address that the client requested, without a path. Behind a trusted proxy, the address that the proxy states. */
export function askedAddress({ c }: Pick<Exchange, "c">, { trustProxy }: { trustProxy: boolean }): URL {
  const asked = new URL(new URL(c.req.url).origin);
  // A chain of proxies appends to the header: the first value is the client's.
  const forwarded = (name: string) => (trustProxy ? c.req.header(name)?.split(",")[0]?.trim() : undefined);
  const scheme = forwarded("X-Forwarded-Proto") ?? asked.protocol.slice(0, -1);
  const named = `${scheme}://${forwarded("X-Forwarded-Host") ?? asked.host}`;
  return URL.canParse(named) ? new URL(named) : asked;
}

/** The address at which clients reach the service. */
export const baseUrl = (
  exchange: Pick<Exchange, "c">,
  { publicUrl, trustProxy }: { publicUrl?: string; trustProxy: boolean },
): string => publicUrl ?? askedAddress(exchange, { trustProxy }).origin;

export function json(exchange: Exchange, status: number, body: unknown): Response {
  exchange.headers["Content-Type"] = "application/json";
  return new Response(JSON.stringify(body), { status, headers: exchange.headers });
}

export function text(exchange: Exchange, body: string, contentType: string): Response {
  exchange.headers["Content-Type"] = contentType;
  return new Response(body, { status: 200, headers: exchange.headers });
}

export function noContent(exchange: Exchange): Response {
  return new Response(null, { status: 204, headers: exchange.headers });
}
