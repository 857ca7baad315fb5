import { randomUUID } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";

export type HttpEnv = { Bindings: Partial<HttpBindings> };

/** What the line of a request in the log says about its sender and its run, as far as the handler knows it. */
export interface RequestFacts {
  agentId?: string;
  /** The key or token, and the label that people gave it. */
  keyId?: string;
  keyLabel?: string;
  memberId?: string;
  role?: string;
  runId?: string;
}

/** One request and the response that is being made for it. */
export interface Exchange {
  readonly c: Context<HttpEnv>;
  readonly requestId: string;
  /** Headers of the response, of a failure too. */
  readonly headers: Record<string, string>;
  /** Values of `Set-Cookie`, one header each. A failure sets none. */
  readonly cookies: string[];
  readonly facts: RequestFacts;
}

export type Handler = (exchange: Exchange) => Promise<Response> | Response;

/** What a request id may look like; anything else that a client sends is replaced. */
export const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's request id where it is well-formed, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;
}

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
