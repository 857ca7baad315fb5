import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface StandInReplica extends AsyncDisposable {
  readonly port: number;
  /** Requests that came, upgrades included, as `METHOD target`. */
  readonly asked: string[];
}

/** A replica in a state that a real one passes through too fast to be caught there. */
export async function startStandIn(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<StandInReplica> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on("end", () => answer(request, response));
  });
  server.on("upgrade", (request, socket) => {
    asked.push(`upgrade ${request.url}`);
    socket.end("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** What a draining replica says to a query whose run goes on elsewhere. */
export function draining(_request: IncomingMessage, response: ServerResponse): void {
  const headers = { "Content-Type": "application/json", "Retry-After": "1", "X-Run-Id": "run_elsewhere" };
  response.writeHead(503, headers).end('{"success":false,"errorMessage":"stopping","code":"unavailable"}');
}

/** A port of this machine on which nobody listens. */
export async function deadPort(): Promise<number> {
  const gone = await startStandIn(() => {});
  await gone[Symbol.asyncDispose]();
  return gone.port;
}
