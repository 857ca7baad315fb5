import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface StandInReplica extends AsyncDisposable {
  readonly port: number;
  /** Requests, including upgrades, as `METHOD target`. */
  readonly asked: string[];
}

/** A replica in a state that a real one leaves too fast for a test. */
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

/** The response of a draining replica to a query whose run continues on another replica. */
export function draining(_request: IncomingMessage, response: ServerResponse): void {
  const headers = { "Content-Type": "application/json", "Retry-After": "1", "X-Run-Id": "run_elsewhere" };
  response.writeHead(503, headers).end('{"success":false,"errorMessage":"stopping","code":"unavailable"}');
}
