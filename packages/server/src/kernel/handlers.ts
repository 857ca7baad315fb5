import { type IncomingHttpHeaders, STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { HttpErrorCode } from "@patchbay/protocol";
import type { Hono } from "hono";
import type { Log } from "@patchbay/kit";
import { errorBody, STATUS_OF, traceOf } from "./errors.ts";
import { type HttpEnv, requestIdOf } from "./exchange.ts";

/** Takes over the socket of a WebSocket request, and closes it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** What serves the app in an HTTP server, this package's or another one. */
export interface Handlers {
  /** Answers a request of the Fetch API. `env` has Node's request as `incoming`, and its response as `outgoing`, if there are any. */
  fetch(request: Request, env?: unknown): Promise<Response>;
  /** Answers a request of Node's HTTP server. Its body must not have been read. */
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** Takes over the socket of a runtime that connects. Returns false, and does not touch the socket, for every other request. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

const CONNECT_PATH = "/functions/connect";

/** The parts of a request that decide whether it is refused. */
type RequestHead = Pick<IncomingMessage, "url" | "headers">;

/**
 * Serves the app in an own server, or below a path of another one. `refuse` returns why a request gets a 400, whatever
 * its path.
 */
export function createHandlers(options: {
  app: Hono<HttpEnv>;
  upgrade: UpgradeHandler;
  log: Log;
  /**
   * Where another server calls the handlers: the path, without a slash at its end, before those of the app. It is removed
   * exactly once, so that a rule of that server for a path holds for what the app then serves.
   */
  mountedAt?: string | undefined;
  refuse?: ((request: RequestHead) => string | undefined) | undefined;
}): Handlers {
  const { app, upgrade, log, mountedAt } = options;
  const refusalOf = (request: RequestHead): string | undefined =>
    DOT_SEGMENT.test(request.url ?? "") ? INVALID : options.refuse?.(request);

  /** A path and query as the app knows it; undefined if it is outside. */
  function within(url: string): string | undefined {
    if (mountedAt === undefined || mountedAt === "") return url;
    const rest = url.slice(mountedAt.length);
    return url.startsWith(mountedAt) && /^([/?]|$)/.test(rest) ? rest.replace(/^(?!\/)/, "/") : undefined;
  }

  function answerOf(request: IncomingMessage, path: string | undefined): typeof app.fetch {
    if (path === undefined) return () => outside(request.headers);
    if (mountedAt !== undefined && wasRead(request)) return () => alreadyRead(request.headers, log);
    const refusal = refusalOf(request);
    return refusal === undefined ? app.fetch : () => refused(refusal, request.headers);
  }

  const outside = (headers: IncomingHttpHeaders): Response =>
    refused(`The control plane serves the paths below ${mountedAt}.`, headers, "not_found");

  return {
    async fetch(request, env = {}) {
      const url = new URL(request.url);
      const headers = { host: url.host, ...Object.fromEntries(request.headers) };
      const path = within(url.pathname);
      if (path === undefined) return outside(headers);
      const refusal = refusalOf({ url: path, headers });
      if (refusal !== undefined) return refused(refusal, headers);
      url.pathname = path;
      return app.fetch(mountedAt ? new Request(url, request) : request, env as object);
    },

    listener(request, response) {
      const path = within(urlOf(request));
      request.url = path ?? "/";
      const listener = getRequestListener(answerOf(request, path), {
        // HTTP/1.0 needs no Host header, and load balancers check health without one.
        hostname: "localhost",
        // The faster Request and Response would replace those of the whole process.
        overrideGlobalObjects: mountedAt === undefined,
        errorHandler: (error) => unservable(error, request, log),
      });
      void listener(request, response);
    },

    upgrade(request, socket, head) {
      const url = within(urlOf(request));
      const { method, headers } = request;
      if (!requestsWebSocket({ method, url, headers })) return false;
      request.url = url;
      const refusal = refusalOf(request);
      if (refusal === undefined) upgrade(request, socket, head);
      else refuseUpgrade(request, socket, "invalid_request", refusal);
      return true;
    },
  };
}

/** The request's target. Express and Connect remove the path that they mount a handler at, and store the whole as `originalUrl`. */
const urlOf = (request: IncomingMessage): string =>
  "originalUrl" in request && typeof request.originalUrl === "string" ? request.originalUrl : (request.url ?? "");

/** The host's body parser took the body, and left no `rawBody`. */
const wasRead = (request: IncomingMessage): boolean =>
  request.readableDidRead && !("rawBody" in request && request.rawBody instanceof Buffer);

function alreadyRead(headers: IncomingHttpHeaders, log: Log): Response {
  const why =
    "The server that the control plane is mounted in has read the request's body. Mount it before body parsers.";
  log.error("request failed", { error: why });
  return refused(why, headers, "internal");
}

/** True for the requests that {@link Handlers.upgrade} takes. */
export function requestsWebSocket(
  request: Pick<IncomingMessage, "method" | "headers"> & { url?: string | undefined },
): boolean {
  const path = request.url?.split("?", 1)[0];
  return request.method === "GET" && path === CONNECT_PATH && request.headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * A `.` or `..` segment, also encoded. URL parsers resolve it before routing, but proxies that match paths as text do
 * not: a request for `/api/%2e%2e/metrics` would pass a rule that denies `/metrics`.
 */
const DOT_SEGMENT = /^[^?#]*(?:[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%2f|%5c|$)/i;
const INVALID = "The request's target or Host header is not valid.";

/** Answers requests that no app can handle, for example those with an invalid Host header. */
function unservable(error: unknown, request: IncomingMessage, log: Log): Response {
  if (error instanceof RequestError) return refused(INVALID, request.headers);
  log.error("request failed", { error: traceOf(error) });
  return refused("Something went wrong on our side.", request.headers, "internal");
}

function refused(message: string, headers: IncomingHttpHeaders, code: HttpErrorCode = "invalid_request"): Response {
  const requestId = ownRequestId(headers);
  return new Response(JSON.stringify(errorBody(code, message, requestId)), {
    status: STATUS_OF[code],
    headers: { "Content-Type": "application/json", "X-Request-Id": requestId },
  });
}

/** Answers a refused WebSocket request, by default one for another path. */
export function refuseUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  code: HttpErrorCode = "not_found",
  message = "Only /functions/connect takes a WebSocket.",
): void {
  const requestId = ownRequestId(request.headers);
  const body = JSON.stringify(errorBody(code, message, requestId));
  const status = STATUS_OF[code];
  socket.on("error", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function ownRequestId(headers: IncomingHttpHeaders): string {
  const given = headers["x-request-id"];
  return requestIdOf(typeof given === "string" ? given : undefined);
}
