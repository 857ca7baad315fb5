import { once } from "node:events";
import { createServer, connect as dial, type AddressInfo, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";

/** `up` is from the client to the server. */
type Direction = "up" | "down";

/** A TCP proxy in front of a server on loopback, for network faults. */
export interface ChaosProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections open now. */
  readonly open: number;
  /** Delay of each piece. */
  delayMs: number;
  /** If set, bytes pass in pieces of this size, each in its own turn of the event loop. */
  pieceBytes: number | undefined;
  /** While true, new connections are closed immediately. */
  refusing: boolean;
  /** Resets every connection. Held bytes are lost. */
  cut(): void;
  /** Drops all bytes on the connections that are open now, which stay open (half-open). New connections work. */
  hold(...directions: Direction[]): void;
  /** Forwards held bytes, in order. */
  release(): void;
  /** Sends later connections to another port. */
  retarget(port: number): void;
}

interface Pair {
  readonly sockets: readonly [Socket, Socket];
  readonly held: Map<Direction, PromiseWithResolvers<void>>;
}

export async function startChaosProxy(targetPort: number): Promise<ChaosProxy> {
  const pairs = new Set<Pair>();
  let accepted = 0;
  let target = targetPort;

  async function pump(from: Socket, to: Socket, pair: Pair, direction: Direction): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      await pair.held.get(direction)?.promise;
      if (proxy.delayMs > 0) await wait(proxy.delayMs);
      const size = proxy.pieceBytes ?? chunk.length;
      for (let at = 0; at < chunk.length; at += size) {
        if (!to.write(chunk.subarray(at, at + size))) await once(to, "drain");
        if (size < chunk.length) await nextTurn();
      }
    }
    to.end();
  }

  const server = createServer({ noDelay: true }, (client) => {
    accepted++;
    if (proxy.refusing) return void client.resetAndDestroy();
    const upstream = dial({ port: target, host: "127.0.0.1", noDelay: true });
    const pair: Pair = { sockets: [client, upstream], held: new Map() };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      for (const held of pair.held.values()) held.resolve();
      for (const socket of pair.sockets) socket.destroy();
    };
    for (const socket of pair.sockets) socket.on("error", end).on("close", end);
    pump(client, upstream, pair, "up").catch(end);
    pump(upstream, client, pair, "down").catch(end);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const proxy: ChaosProxy = {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    get open() {
      return pairs.size;
    },
    delayMs: 0,
    pieceBytes: undefined,
    refusing: false,
    cut() {
      for (const { sockets } of pairs) for (const socket of sockets) socket.resetAndDestroy();
    },
    hold(...directions) {
      for (const { held } of pairs)
        for (const direction of directions) if (!held.has(direction)) held.set(direction, Promise.withResolvers());
    },
    release() {
      for (const { held } of pairs) {
        for (const gate of held.values()) gate.resolve();
        held.clear();
      }
    },
    retarget(port) {
      target = port;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      proxy.cut();
      await once(server, "close");
    },
  };
  return proxy;
}
