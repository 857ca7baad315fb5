import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { CallFrame, RuntimeFrame } from "@patchbay/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { createInbox, type Inbox } from "./inbox.ts";

type Frame<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;

/** One runtime's link to a control plane driven by hand. */
export interface HandLink {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly inbox: Inbox<RuntimeFrame>;
  readonly closed: Promise<number>;
  send(frame: object | string): void;
  next<Type extends RuntimeFrame["type"]>(type: Type): Promise<Frame<Type>>;
}

export interface HandPlane extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** When set, upgrades are refused with this status, and with the headers and the body that `refuseMore` gives. */
  refuseWith: number | undefined;
  refuseMore: { headers?: Record<string, string>; body?: string };
  /** Upgrades refused so far. */
  readonly refused: number;
  /** The next link a runtime opens, before its hello was answered. */
  link(): Promise<HandLink>;
  /** The next link, after hello and welcome. */
  welcome(more?: { framesPerSecond?: number }): Promise<HandLink>;
}

export async function startHandPlane(options: { heartbeatMs?: number; port?: number } = {}): Promise<HandPlane> {
  const { heartbeatMs = 10_000 } = options;
  const links = createInbox<HandLink>("link");
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer();
  let refused = 0;
  server.on("upgrade", (request, socket, head) => {
    if (plane.refuseWith !== undefined) {
      refused++;
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

  const plane: HandPlane = {
    url: `http://127.0.0.1:${port}`,
    port,
    refuseWith: undefined,
    refuseMore: {},
    get refused() {
      return refused;
    },
    link: () => links.next((link): link is HandLink => link !== undefined),
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

function toLink(socket: WebSocket, request: IncomingMessage): HandLink {
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
