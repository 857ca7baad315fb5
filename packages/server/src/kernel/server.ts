import { clearTimer, setInterval, setTimeout } from "@patchbay/kit/time";
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { HttpErrorCode } from "@patchbay/protocol";
import type { Hono } from "hono";
import type { Log } from "@patchbay/kit";
import { errorBody, STATUS_OF, traceOf } from "./errors.ts";
import { type HttpEnv, requestIdOf } from "./exchange.ts";

/** Takes over the socket of a WebSocket request, and closes it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface HttpServer {
  /** Port 0 selects a free port. Rejects with advice, which names `portOption` (default `--port`), when the address is not available. */
  listen(options: { port: number; host: string; portOption?: string }): Promise<{ port: number }>;
  /**
   * Accepts no new connections, waits up to `graceMs` (default 0) for open requests, then closes their connections. The
   * upgrade handler closes upgraded connections.
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

/**
 * Serves the app on a port, with limits against slow and broken clients. `refuse` returns why a request gets a 400,
 * whatever its path.
 */
export function createHttpServer(options: {
  app: Hono<HttpEnv>;
  upgrade: UpgradeHandler;
  log: Log;
  /** The connection limit, and a callback for when it is reached. Default: no limit. */
  connections?: { most: number; full(): void } | undefined;
  refuse?: ((request: IncomingMessage) => string | undefined) | undefined;
}): HttpServer {
  const { app, upgrade, log, connections } = options;
  const refusalOf = (request: IncomingMessage): string | undefined =>
    DOT_SEGMENT.test(request.url ?? "") ? INVALID : options.refuse?.(request);
  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (!server.listening) response.setHeader("Connection", "close");
    const refusal = refusalOf(request);
    const fetch: typeof app.fetch = refusal === undefined ? app.fetch : () => refused(refusal, request);
    const listener = getRequestListener(fetch, {
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
  if (connections) limitConnections(server, connections);
  // Ignores expectations other than 100-continue. Node would answer 417 without an X-Request-Id.
  server.on("checkExpectation", serve);
  server.on("clientError", refuse);
  server.on("upgrade", (request, socket, head) => {
    const refusal = refusalOf(request);
    if (refusal !== undefined) refuseUpgrade(request, socket, "invalid_request", refusal);
    else if (requestsWebSocket(request)) upgrade(request, socket, head);
    else refuseUpgrade(request, socket, "not_found", "Only /functions/connect takes a WebSocket.");
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
      // close() closes only connections that are idle now. Those that become idle later would stay open for their
      // keep-alive time.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await promise;
      clearTimer(sweep);
      clearTimer(cut);
    },
  };
}

/** One in 16 connections is accepted by closing a silent one: a probe gets its answer while the server is full. */
const SPARE = 16;

/**
 * Accepts at most `most` connections. Above 15/16 of them, a new connection replaces the oldest silent one: clients
 * that open connections and send nothing must not exclude others.
 */
function limitConnections(server: Server, { most, full }: { most: number; full(): void }): void {
  const open = new Set<Socket>();
  const silent = new Set<Socket>();
  const shedFrom = most - Math.ceil(most / SPARE);
  server.maxConnections = most;
  server.on("drop", full);
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    silent.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      silent.delete(socket);
    });
    if (open.size <= shedFrom) return;
    full();
    for (const candidate of silent) {
      silent.delete(candidate);
      if (candidate !== socket && candidate.bytesRead === 0) return void candidate.destroy();
      if (candidate === socket) return void silent.add(socket);
    }
  });
}

function requestsWebSocket(request: Pick<IncomingMessage, "method" | "url" | "headers">): boolean {
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

/**
 * Answers bytes that are not HTTP, unless a response is in progress: the client would read the answer as part of it.
 */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: { headersSent: boolean } };
  if (!socket.writable || current?.headersSent || error.code === "ECONNRESET") return void socket.destroy();
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
    socket.destroy(),
  );
}

/** Answers a refused WebSocket request, and one for another path where Node lacks `shouldUpgradeCallback`. */
function refuseUpgrade(request: IncomingMessage, socket: Duplex, code: HttpErrorCode, message: string): void {
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
