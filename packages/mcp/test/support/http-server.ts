import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { freePort } from "@patchbay/test-support/free-port";

/** A server over HTTP that can stop, and start again with the same address. */
export interface HttpServer extends AsyncDisposable {
  url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts a server that answers with `fetch`. */
export async function serve(fetch: (request: Request) => Promise<Response>): Promise<HttpServer> {
  let server: Server;
  const port = await freePort();
  async function start() {
    server = createServer((request, response) => {
      fetch(toRequest(request)).then(
        (answer) => send(answer, response),
        () => response.destroy(),
      );
    });
    await once(server.listen(port, "127.0.0.1"), "listening");
  }
  async function stop() {
    if (!server.listening) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await start();
  return { url: `http://127.0.0.1:${port}/mcp`, start, stop, [Symbol.asyncDispose]: stop };
}

function toRequest(request: IncomingMessage): Request {
  const hasBody = request.method === "POST";
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method!,
    headers: request.headers as Record<string, string>,
    ...(hasBody && { body: Readable.toWeb(request), duplex: "half" }),
  } as RequestInit);
}

function send(answer: Response, response: ServerResponse): void {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body)
    Readable.fromWeb(answer.body as never)
      .on("error", () => response.destroy())
      .pipe(response);
  else response.end();
}

/** One release of a server: its name, and a tool `who` whose calls are counted. */
export function release({ name = "remote", description = "Says who calls." } = {}) {
  const calls: Request[] = [];
  const { fetch } = createMcpHandler(({ requestInfo }) => {
    const server = new McpServer({ name, version: "1.0.0" });
    server.registerTool("who", { description }, () => {
      calls.push(requestInfo!);
      return { content: [{ type: "text", text: requestInfo!.headers.get("x-role") ?? "none" }] };
    });
    return server;
  });
  return { fetch, calls };
}
