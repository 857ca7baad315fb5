import { once } from "node:events";
import { LINK_VERSION, type PlaneFrame } from "@patchbay/protocol";
import { WebSocket } from "ws";
import { createInbox, type Inbox } from "./inbox.ts";
import { handManifest } from "./hand-service.ts";

type Frame<Type extends PlaneFrame["type"]> = Extract<PlaneFrame, { type: Type }>;

/** A runtime driven by hand: sees and sends single frames. */
export interface HandRuntime {
  readonly socket: WebSocket;
  readonly inbox: Inbox<PlaneFrame>;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** The status of the refusal, where the upgrade is refused. */
  readonly refused: Promise<number | undefined>;
  send(frame: object | string): void;
  /** Resolves when the gateway has read everything sent before. */
  read(): Promise<void>;
  next<Type extends PlaneFrame["type"]>(type: Type): Promise<Frame<Type>>;
}

export function dialGateway(port: number, headers: Record<string, string> = {}): HandRuntime {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/functions/connect`, {
    perMessageDeflate: false,
    headers: { Authorization: "Bearer key-of-a", ...headers },
  });
  const inbox = createInbox<PlaneFrame>("frame");
  socket.on("message", (data) => inbox.put(JSON.parse((data as Buffer).toString()) as PlaneFrame));
  socket.on("error", () => {});
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  const refused = new Promise<number | undefined>((resolve) => {
    socket.on("unexpected-response", (request, { statusCode }) => {
      resolve(statusCode);
      request.destroy();
    });
  });
  return {
    socket,
    inbox,
    closed,
    refused,
    send: (frame) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    async read() {
      const pong = once(socket, "pong");
      socket.ping();
      await pong;
    },
    next: <Type extends PlaneFrame["type"]>(type: Type) =>
      inbox.next((frame): frame is Frame<Type> => frame.type === type),
  };
}

export function helloFrom(instanceId: string, functions: string[] = ["echo"], concurrency = 4) {
  const manifest = handManifest(functions);
  return { type: "hello", version: LINK_VERSION, instanceId, manifest, concurrency, sdk: "hand" };
}

/** A hand-driven runtime that was welcomed. */
export async function greetGateway(
  port: number,
  hello: object = helloFrom("instance-1"),
  headers: Record<string, string> = {},
): Promise<HandRuntime> {
  const runtime = dialGateway(port, headers);
  runtime.socket.once("open", () => runtime.send(hello));
  await runtime.next("welcome");
  return runtime;
}
