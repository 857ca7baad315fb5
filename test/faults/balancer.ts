import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** Forwards each TCP connection to the next of several servers that accepts it. */
export interface Balancer extends AsyncDisposable {
  readonly port: number;
}

const DIAL_MS = 2_000;

export async function startBalancer(targets: () => readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;

  function join(client: Socket, left: number): void {
    const ports = targets();
    const port = ports[turn++ % ports.length];
    if (port === undefined || left === 0) return void client.resetAndDestroy();
    const server = connect({ port, host: "127.0.0.1", noDelay: true });
    const late = setTimeout(() => server.destroy(new Error("no connection in time")), DIAL_MS);
    let joined = false;
    open.add(server);
    server.on("connect", () => {
      joined = true;
      clearTimeout(late);
      client.pipe(server).pipe(client);
    });
    server.on("error", () => {});
    server.on("close", () => {
      clearTimeout(late);
      open.delete(server);
      if (joined) client.destroy();
      else if (!client.destroyed) join(client, left - 1);
    });
    client.on("close", () => server.destroy());
  }

  const server = createServer({ noDelay: true }, (client) => {
    open.add(client);
    client.on("error", () => {});
    client.on("close", () => open.delete(client));
    join(client, targets().length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, "close");
    },
  };
}
