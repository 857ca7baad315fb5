import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the receiver got it. */
export interface Got {
  headers: IncomingMessage["headers"];
  body: string;
}

/**
 * An HTTP server on 127.0.0.1. Without `answer` it answers 204. It accepts the audit heads, which a control plane sends
 * 30 seconds after its start, without recording them: slow tests receive one, others do not.
 */
export async function startReceiver(
  answer: (response: ServerResponse, got: Got) => void = (r) => r.writeHead(204).end(),
) {
  const got: Got[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    let body = "";
    try {
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
    } catch {
      // The sender broke off.
      return;
    }
    if (body.includes('"type":"audit.head"')) return void response.writeHead(204).end();
    const one = { headers: request.headers, body };
    got.push(one);
    answer(response, one);
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    got,
    port,
    url: `http://127.0.0.1:${port}/hook`,
    /** Resolves once this many requests have arrived. */
    async received(count: number): Promise<Got[]> {
      while (got.length < count) await arrived.promise;
      return got;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((done) => void server.close(() => done()));
    },
  };
}
