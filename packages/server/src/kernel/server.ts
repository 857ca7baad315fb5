import { clearTimer, setInterval, setTimeout } from "@patchbay/kit/time";
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Log } from "@patchbay/kit";
import { traceOf } from "./errors.ts";
import { type Handlers, refuseUpgrade, requestsWebSocket } from "./handlers.ts";

export interface HttpServer {
  /** Port 0 selects a free port. Rejects with advice, which names `portOption` (default `--port`), when the address is not available. */
  listen(options: { port: number; host: string; portOption?: string }): Promise<{ port: number }>;
  /**
   * Accepts no new connections, waits up to `graceMs` (default 0) for open requests, then closes their connections. The
   * upgrade handler closes upgraded connections.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

const SWEEP_MS = 50;
/** `requestTimeout` does not include the response, so it does not end streams. */
const TIMES = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  // The default is 30 s, which would let headers take 40 s.
  connectionsCheckingInterval: 1_000,
};

/** Serves the handlers on a port, with limits against slow and broken clients. */
export function createHttpServer(options: {
  handlers: Handlers;
  log: Log;
  /** The connection limit, and a callback for when it is reached. Default: no limit. */
  connections?: { most: number; full(): void } | undefined;
}): HttpServer {
  const { handlers, log, connections } = options;
  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (!server.listening) response.setHeader("Connection", "close");
    handlers.listener(request, response);
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
    if (!handlers.upgrade(request, socket, head)) refuseUpgrade(request, socket);
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
