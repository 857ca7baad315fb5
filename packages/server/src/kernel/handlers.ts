import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
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
  fetch(request: Request, env?: object): Promise<Response>;
  /** Answers a request of Node's HTTP server. Its body must not have been read. */
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** Takes over the socket of a runtime that connects. Returns false, and does not touch the socket, for every other request. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

const CONNECT_PATH = "/functions/connect";

/**
 * Serves the app, also below a prefix that the server has not removed from the URL. `refuse` returns why a request gets a
 * 400, whatever its path.
 */
export function createHandlers(options: {
  app: Hono<HttpEnv>;
  upgrade: UpgradeHandler;
  log: Log;
  /** A path without a slash at its end. Default: none. */
  prefix?: string | undefined;
  /** Whether another server calls the handlers. Default false. */
  isMounted?: boolean;
  refuse?: ((request: IncomingMessage) => string | undefined) | undefined;
}): Handlers {
  const { app, upgrade, log, prefix = "", isMounted = false } = options;
  const refusalOf = (request: IncomingMessage): string | undefined =>
    DOT_SEGMENT.test(request.url ?? "") ? INVALID : options.refuse?.(request);

  /** A path and query without the prefix. */
  function within(url: string): string {
    const rest = url.slice(prefix.length);
    return prefix === "" || !url.startsWith(prefix) || !/^([/?]|$)/.test(rest) ? url : rest.replace(/^(?!\/)/, "/");
  }

  function answerOf(request: IncomingMessage): typeof app.fetch {
    if (isMounted && wasRead(request)) return () => alreadyRead(request, log);
    const refusal = refusalOf(request);
    return refusal === undefined ? app.fetch : () => refused(refusal, request);
  }

  return {
    async fetch(request, env = {}) {
      const url = new URL(request.url);
      const path = within(url.pathname);
      const own = path === url.pathname ? request : new Request(new URL(path + url.search, url), request);
      return app.fetch(own, env);
    },

    listener(request, response) {
      request.url = within(request.url ?? "");
      const listener = getRequestListener(answerOf(request), {
        // HTTP/1.0 needs no Host header, and load balancers check health without one.
        hostname: "localhost",
        // The faster Request and Response would replace those of the whole process.
        overrideGlobalObjects: !isMounted,
        errorHandler: (error) => unservable(error, request, log),
      });
      void listener(request, response);
    },

    upgrade(request, socket, head) {
      const url = within(request.url ?? "");
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

/** The host's body parser took the body, and left no `rawBody`. */
const wasRead = (request: IncomingMessage): boolean =>
  request.readableDidRead && !("rawBody" in request && request.rawBody instanceof Buffer);

function alreadyRead(request: IncomingMessage, log: Log): Response {
  const why =
    "The server that the control plane is mounted in has read the request's body. Mount it before body parsers.";
  log.error("request failed", { error: why });
  return refused(why, request, "internal");
}

/** True for the requests that {@link Handlers.upgrade} takes. */
export function requestsWebSocket(request: Pick<IncomingMessage, "method" | "url" | "headers">): boolean {
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
  if (error instanceof RequestError) return refused(INVALID, request);
  log.error("request failed", { error: traceOf(error) });
  return refused("Something went wrong on our side.", request, "internal");
}

function refused(message: string, request: IncomingMessage, code: HttpErrorCode = "invalid_request"): Response {
  const requestId = ownRequestId(request);
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
  const requestId = ownRequestId(request);
  const body = JSON.stringify(errorBody(code, message, requestId));
  const status = STATUS_OF[code];
  socket.on("error", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function ownRequestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return requestIdOf(typeof given === "string" ? given : undefined);
}
