import { connect, type Socket } from "node:net";

/** A TCP connection that keeps what it received as latin1 text. */
export interface RawSocket extends Disposable {
  readonly socket: Socket;
  readonly received: string;
  write(bytes: string | Uint8Array): void;
  /** Resolves with everything received once `condition` holds of it; rejects when the connection closes before. */
  until(condition: (received: string) => boolean): Promise<string>;
  /** Resolves with everything received once the other side closed. */
  closed(): Promise<string>;
}

export async function openSocket(port: number): Promise<RawSocket> {
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  socket.on("data", (chunk) => (received += chunk.toString("latin1")));
  socket.on("error", () => undefined);
  const end = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  return {
    socket,
    get received() {
      return received;
    },
    write: (bytes) => void socket.write(bytes),
    until: (condition) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!condition(received)) return;
          socket.off("data", check);
          resolve(received);
        };
        socket.on("data", check);
        void end.then(() => (condition(received) ? resolve(received) : reject(new Error(`closed after: ${received}`))));
        check();
      }),
    async closed() {
      await end;
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** Request text with the headers given, CRLF and all. */
export function requestText(method: string, path: string, headers: Record<string, string>, body = ""): string {
  const lines = Object.entries({ Host: "127.0.0.1", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
