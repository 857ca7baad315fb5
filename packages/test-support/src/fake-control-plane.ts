import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { CallFrame, RuntimeFrame } from "@patchbay/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { createInbox, type Inbox } from "./inbox.ts";

type Frame<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;

/** The connection of one runtime to a fake control plane. */
export interface FakeConnection {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly inbox: Inbox<RuntimeFrame>;
  readonly closed: Promise<number>;
  send(frame: object | string): void;
  next<Type extends RuntimeFrame["type"]>(type: Type): Promise<Frame<Type>>;
}

export interface FakeControlPlane extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** If set, upgrades are rejected with this status, and with the headers and the body of `refuseMore`. */
  refuseWith: number | undefined;
  refuseMore: { headers?: Record<string, string>; body?: string };
  /** Upgrades rejected so far. */
  readonly refused: number;
  /** The next connection of a runtime, before the answer to its hello. */
  link(): Promise<FakeConnection>;
  /** The next connection, after hello and welcome. */
  welcome(more?: { framesPerSecond?: number }): Promise<FakeConnection>;
}

export async function startFakeControlPlane(
  options: { heartbeatMs?: number; port?: number } = {},
): Promise<FakeControlPlane> {
  const { heartbeatMs = 10_000 } = options;
  const links = createInbox<FakeConnection>("link");
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer();
  let refused = 0;
  server.on("upgrade", (request, socket, head) => {
    if (plane.refuseWith !== undefined) {
      refused++;
      socket.on("error", () => {}); // The runtime may reset the connection before it reads the whole rejection.
      const { headers = {}, body = "" } = plane.refuseMore;
      const all = { ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${plane.refuseWith} No\r\n${lines.join("")}\r\n${body}`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => links.put(toLink(webSocket, request)));
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const plane: FakeControlPlane = {
    url: `http://127.0.0.1:${port}`,
    port,
    refuseWith: undefined,
    refuseMore: {},
    get refused() {
      return refused;
    },
    link: () => links.next((link): link is FakeConnection => link !== undefined),
    async welcome(more) {
      const link = await plane.link();
      await link.next("hello");
      link.send({ type: "welcome", connectionId: "connection", agentId: "agent-a", heartbeatMs, ...more });
      return link;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return plane;
}

function toLink(socket: WebSocket, request: IncomingMessage): FakeConnection {
  const inbox = createInbox<RuntimeFrame>("frame");
  socket.on("message", (data) => inbox.put(JSON.parse((data as Buffer).toString()) as RuntimeFrame));
  socket.on("error", () => {});
  return {
    socket,
    request,
    inbox,
    closed: new Promise((resolve) => void socket.on("close", resolve)),
    send: (frame) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    next: <Type extends RuntimeFrame["type"]>(type: Type) =>
      inbox.next((frame): frame is Frame<Type> => frame.type === type),
  };
}

export function callFrame(callId: string, change: Partial<CallFrame> = {}): CallFrame {
  return {
    type: "call",
    callId,
    attempt: 1,
    function: "echo",
    arguments: { callId },
    context: {},
    threadId: "thread",
    runId: "run",
    timeoutMs: 5_000,
    ...change,
  };
}
