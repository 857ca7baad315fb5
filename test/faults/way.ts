import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** The network between a replica and one thing that it needs. */
export interface Way extends AsyncDisposable {
  readonly port: number;
  /** From now on nothing passes, on connections open and new, and neither end is told: as if a cable were pulled. */
  cut(): void;
  /** What was on its way arrives, late. */
  mend(): void;
}

export async function startWay(targetPort: number): Promise<Way> {
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
    // Flow is stopped by pausing alone, or a drained peer would start it again in mid-cut.
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
    mend() {
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
