import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";

/** A proxy on loopback that opens tunnels (CONNECT) and nothing else. */
export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The addresses that CONNECT asked for, each with the credentials in clear text. */
  readonly requests: { address: string; credentials?: string }[];
  /** If set, every CONNECT is answered with this status. */
  refuseWith: number | undefined;
  /** Ends every open tunnel. */
  cut(): void;
}

/**
 * Starts a proxy. `to`: the port on loopback that every tunnel leads to, whatever address was asked for. With `credentials`
 * (`user:password`) it answers 407 to others; with `tls` it is an https: proxy.
 */
export async function startConnectProxy(options: {
  to: number;
  credentials?: string;
  tls?: { key: string; cert: string };
}): Promise<ConnectProxy> {
  const { to, credentials, tls } = options;
  const refuse: RequestListener = (_request, response) => response.writeHead(405).end();
  const server: Server = tls ? createTlsServer(tls, refuse) : createServer(refuse);
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => open.delete(socket));
  };
  server.on("connection", keep);
  server.on("connect", (request, client: Socket, head) => {
    keep(client);
    const given = request.headers["proxy-authorization"]?.replace(/^Basic /, "");
    const clear = given && Buffer.from(given, "base64").toString();
    proxy.requests.push({ address: request.url ?? "", ...(clear !== undefined && { credentials: clear }) });
    const status = proxy.refuseWith ?? (credentials !== undefined && clear !== credentials ? 407 : undefined);
    if (status !== undefined) return void client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
    const target = connect(to, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      client.pipe(target).pipe(client);
    });
    keep(target);
    target.on("close", () => client.destroy());
    client.on("close", () => target.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const proxy: ConnectProxy = {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    requests: [],
    refuseWith: undefined,
    cut() {
      for (const socket of open) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      proxy.cut();
      await once(server, "close");
    },
  };
  return proxy;
}
