import { once } from "node:events";
import { FRAMES_VERSION, type ControlPlaneFrame } from "@patchbay/protocol";
import { WebSocket } from "ws";
import { createInbox, type Inbox } from "./inbox.ts";
import { fakeManifest } from "./fake-service.ts";

type Frame<Type extends ControlPlaneFrame["type"]> = Extract<ControlPlaneFrame, { type: Type }>;

/** A runtime that a test controls frame by frame. */
export interface FakeRuntime {
  readonly socket: WebSocket;
  readonly inbox: Inbox<ControlPlaneFrame>;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** The status of a rejected upgrade. */
  readonly refused: Promise<number | undefined>;
  send(frame: object | string): void;
  /** Resolves when the gateway has read all earlier frames. */
  read(): Promise<void>;
  next<Type extends ControlPlaneFrame["type"]>(type: Type): Promise<Frame<Type>>;
}

export function dialGateway(port: number, headers: Record<string, string> = {}): FakeRuntime {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/functions/connect`, {
    perMessageDeflate: false,
    headers: { Authorization: "Bearer key-of-a", ...headers },
  });
  const inbox = createInbox<ControlPlaneFrame>("frame");
  socket.on("message", (data) => inbox.put(JSON.parse((data as Buffer).toString()) as ControlPlaneFrame));
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
    next: <Type extends ControlPlaneFrame["type"]>(type: Type) =>
      inbox.next((frame): frame is Frame<Type> => frame.type === type),
  };
}

export function helloFrom(instanceId: string, functions: string[] = ["echo"], concurrency = 4) {
  const manifest = fakeManifest(functions);
  return { type: "hello", version: FRAMES_VERSION, instanceId, manifest, concurrency, sdk: "hand" };
}

/** Connects a fake runtime and completes its handshake. */
export async function joinGateway(
  port: number,
  hello: object = helloFrom("instance-1"),
  headers: Record<string, string> = {},
): Promise<FakeRuntime> {
  const runtime = dialGateway(port, headers);
  runtime.socket.once("open", () => runtime.send(hello));
  await runtime.next("welcome");
  return runtime;
}
