import type { Server } from "node:http";
import { WebSocketServer, type WebSocket } from "ws";
import { ResultFrame } from "./frames.ts";

/** The server's end of the WebSocket to the function process. */
export function createHub(server: Server) {
  const waiting = new Map<number, (value: unknown) => void>();
  const connected = Promise.withResolvers<void>();
  let functions: WebSocket | undefined;
  let lastId = 0;
  const sockets = new WebSocketServer({ server, path: "/functions", perMessageDeflate: false });
  sockets.on("connection", (socket) => {
    functions = socket;
    connected.resolve();
    socket.on("message", (data: Buffer) => {
      const { id, value } = ResultFrame.parse(JSON.parse(data.toString()));
      waiting.get(id)?.(value);
      waiting.delete(id);
    });
  });
  return {
    connected: connected.promise,
    call(name: string, input: unknown): Promise<unknown> {
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        if (!functions) return reject(new Error("no functions are connected"));
        waiting.set(id, resolve);
        functions.send(JSON.stringify({ id, name, input }));
      });
    },
  };
}
