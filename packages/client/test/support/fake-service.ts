import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A stand-in for the service: answers the nth request with the nth of `answers`, and keeps what was asked. */
export async function startFakeService(answers: ((response: ServerResponse) => void)[]) {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
      const answer = answers[requests.length - 1];
      if (answer) answer(response);
      else response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers with JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

/** Answers with events; `cut` breaks the connection off in the middle of what would come next. */
export function events(bodies: object[], { from = 1, cut = false }: { from?: number; cut?: boolean } = {}) {
  return (response: ServerResponse) => {
    response.writeHead(200, { "Content-Type": "text/event-stream", "X-Run-Id": "run_1" });
    response.write("retry: 10\n\n");
    for (const [index, body] of bodies.entries())
      response.write(`id: ${from + index}\ndata: ${JSON.stringify(body)}\n\n`);
    if (!cut) response.end();
    else response.write('id: 99\ndata: {"type":', () => response.destroy());
  };
}
