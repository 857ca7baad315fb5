import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { HttpErrorCode } from "@patchbay/protocol";
import type { Hono } from "hono";
import type { Log } from "../../ports/log.ts";
import { errorBody, STATUS_OF } from "./errors.ts";
import { traceOf } from "./errors.ts";
import { type HttpEnv, requestIdOf } from "./exchange.ts";

/** Takes over the socket of a runtime that requests a WebSocket, and closes it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface HttpServer {
  /** Port 0 selects a free port. Rejects with advice, which names `portOption` (default `--port`), when the address is not available. */
  listen(options: { port: number; host: string; portOption?: string }): Promise<{ port: number }>;
  /**
   * Accepts no new connections, waits up to `graceMs` (default 0) for open requests, then closes their connections. The upgrade
   * handler closes upgraded connections.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

const CONNECT_PATH = "/functions/connect";
const SWEEP_MS = 50;
/** `requestTimeout` does not include the response, so it does not end streams. */
const TIMES = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  // The default is 30 s, which would let headers take 40 s.
  connectionsCheckingInterval: 1_000,
};

/** Serves the app on a port, with limits against slow and broken clients. */
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
      // Other upgrades (h2c, for example) are ignored, as HTTP allows, and their requests answered normally.
      shouldUpgradeCallback: requestsWebSocket,
    },
    serve,
  );
  // Ignores expectations other than 100-continue. Node would answer 417 without an X-Request-Id.
  server.on("checkExpectation", serve);
  server.on("clientError", refuse);
  server.on("upgrade", (request, socket, head) => {
    if (requestsWebSocket(request)) upgrade(request, socket, head);
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
      // close() closes only connections that are idle now. Those that become idle later would stay open for their keep-alive time.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await promise;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

function requestsWebSocket(request: Pick<IncomingMessage, "method" | "url" | "headers">): boolean {
  const path = request.url?.split("?", 1)[0];
  return request.method === "GET" && path === CONNECT_PATH && request.headers.upgrade?.toLowerCase() === "websocket";
}

/** Answers requests that no app can handle, for example with an invalid Host header. */
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

/** Answers bytes that are not HTTP, unless a response is being sent: the client would read the answer as part of it. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: { headersSent: boolean } };
  if (!socket.writable || current?.headersSent || error.code === "ECONNRESET") return void socket.destroy();
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
    socket.destroy(),
  );
}

/** Reached in versions of Node without `shouldUpgradeCallback`. */
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
    EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another with --host.`,
    ENOTFOUND: `${host} is not an address of this machine. Choose another with --host.`,
  };
  return new Error(why[error.code ?? ""] ?? `Cannot listen on ${host}:${port}: ${error.code}`, { cause: error });
}
