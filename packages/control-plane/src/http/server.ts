import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Hono } from "hono";
import type { HttpErrorCode } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";
import { requestIdOf } from "./app.ts";
import type { HttpEnv } from "./deps.ts";
import { errorBody, STATUS_OF, traceOf } from "./reply.ts";

/** Takes over the connection of a runtime that asks for a WebSocket; it answers or refuses, and closes. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface HttpServer {
  /** Starts listening; port 0 picks a free one. `portOption` is the option that names the port, default `--port`. Rejects with advice when the address cannot be had. */
  listen(options: { port: number; host: string; portOption?: string }): Promise<{ port: number }>;
  /**
   * Takes no new connections, lets requests under way end for `graceMs` (0 when absent), then cuts what is left. Upgraded
   * connections are their handler's to close.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

const CONNECT_PATH = "/functions/connect";
const SWEEP_MS = 50;
/** Time for headers is short; time for a whole request does not count its response, so streams are not cut by it. */
const TIMES = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  // Node looks for what is over its time each 30 s by default, so that headers could take 40 s.
  connectionsCheckingInterval: 1_000,
};

/** The app on a socket of its own, with the limits that guard it from slow or broken clients. */
export function createHttpServer(options: { app: Hono<HttpEnv>; upgrade: UpgradeHandler; log: Log }): HttpServer {
  const { app, upgrade, log } = options;
  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (!server.listening) response.setHeader("Connection", "close");
    const listener = getRequestListener(app.fetch, {
      // HTTP/1.0 needs no Host header, and load balancers check health without one.
      hostname: "localhost",
      errorHandler: (error) => unservable(error, request, log),
    });
    void listener(request, response);
  }
  const server = createServer(
    {
      ...TIMES,
      maxHeaderSize: 16_384,
      // Other offers to upgrade (h2c, say) are ignored, as HTTP allows: their requests are answered like any.
      shouldUpgradeCallback: wantsLink,
    },
    serve,
  );
  // An expectation other than 100-continue is ignored. Node answers it with a bare 417, without an X-Request-Id.
  server.on("checkExpectation", serve);
  server.on("clientError", refuse);
  server.on("upgrade", (request, socket, head) => {
    if (wantsLink(request)) upgrade(request, socket, head);
    else refuseUpgrade(request, socket);
  });

  return {
    listen({ port, host, portOption = "--port" }) {
      const { promise, resolve, reject } = Promise.withResolvers<{ port: number }>();
      const failed = (error: NodeJS.ErrnoException) => reject(unlistenable(error, { port, host, portOption }));
      server.once("error", failed);
      server.listen(port, host, () => {
        server.off("error", failed);
        server.on("error", (error) => log.error("http server failed", { error: traceOf(error) }));
        resolve({ port: (server.address() as AddressInfo).port });
      });
      return promise;
    },

    async close({ graceMs = 0 } = {}) {
      if (!server.listening) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      // A connection that falls idle later is not closed by itself, and would be waited for until its keep-alive ends.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await promise;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

function wantsLink(request: Pick<IncomingMessage, "method" | "url" | "headers">): boolean {
  const path = request.url?.split("?", 1)[0];
  return request.method === "GET" && path === CONNECT_PATH && request.headers.upgrade?.toLowerCase() === "websocket";
}

/** Answers requests that are HTTP but name nothing that could be served: a broken Host header, say. */
function unservable(error: unknown, request: IncomingMessage, log: Log): Response {
  const ours = !(error instanceof RequestError);
  if (ours) log.error("request failed", { error: traceOf(error) });
  const code: HttpErrorCode = ours ? "internal" : "invalid_request";
  const message = ours ? "Something went wrong on our side." : "The request's target or Host header is not valid.";
  const requestId = ownRequestId(request);
  return new Response(JSON.stringify(errorBody(code, message, requestId)), {
    status: STATUS_OF[code],
    headers: { "Content-Type": "application/json", "X-Request-Id": requestId },
  });
}

/** Answers what is no HTTP, unless a response has begun: bytes in the midst of it would be taken for its own. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: { headersSent: boolean } };
  if (!socket.writable || current?.headersSent || error.code === "ECONNRESET") return void socket.destroy();
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
    socket.destroy(),
  );
}

/** Reached where this Node cannot leave other upgrades alone. */
function refuseUpgrade(request: IncomingMessage, socket: Duplex): void {
  const requestId = ownRequestId(request);
  const body = JSON.stringify(errorBody("not_found", "Only /functions/connect takes a WebSocket.", requestId));
  socket.on("error", () => socket.destroy());
  socket.end(
    `HTTP/1.1 404 Not Found\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function ownRequestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return requestIdOf(typeof given === "string" ? given : undefined);
}

function unlistenable(
  error: NodeJS.ErrnoException,
  { port, host, portOption }: { port: number; host: string; portOption: string },
): Error {
  const why: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is taken by another process. Stop it, or choose another port with ${portOption} (0 picks a free one).`,
    EACCES: `Port ${port} on ${host} may not be opened by this user. Choose a port above 1023 with ${portOption}.`,
    EADDRNOTAVAIL: `${host} is no address of this machine. Choose another with --host.`,
    ENOTFOUND: `${host} is no address of this machine. Choose another with --host.`,
  };
  return new Error(why[error.code ?? ""] ?? `Cannot listen on ${host}:${port}: ${error.code}`, { cause: error });
}
