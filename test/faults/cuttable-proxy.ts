import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A TCP proxy between a replica and its database or bus. */
export interface CuttableProxy extends AsyncDisposable {
  readonly port: number;
  /** Stops all bytes of open and new connections without closing them, like an unplugged cable. */
  cut(): void;
  /** Delivers the delayed bytes. */
  restore(): void;
}

export async function startCuttableProxy(targetPort: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  let whole = true;

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  }

  function join(client: Socket): void {
    waiting.delete(client);
    if (client.destroyed) return;
    const server = connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
    keep(server);
    pump(client, server);
    pump(server, client);
  }

  function pump(from: Socket, to: Socket): void {
    // Only cut() pauses sockets: pipe() would resume them when the peer drains.
    from.on("data", (bytes: Buffer) => to.write(bytes));
    from.on("end", () => to.end());
    from.on("close", () => to.destroy());
  }

  const server = createServer({ noDelay: true }, (client) => {
    keep(client);
    if (whole) join(client);
    else waiting.add(client.pause());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      whole = false;
      for (const socket of sockets) socket.pause();
    },
    restore() {
      whole = true;
      for (const socket of sockets) socket.resume();
      for (const client of waiting) join(client);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
