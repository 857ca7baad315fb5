import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { CallFrame, PlaneFrame, RuntimeFrame } from "@patchbay/protocol";
import { WebSocketServer, type WebSocket } from "ws";
import { silentLog } from "../../log.ts";
import { connect } from "../../runtime/connect.ts";
import type { Service } from "../../service.ts";

type ResultFrame = Extract<RuntimeFrame, { type: "result" }>;

/** A control plane that is not on the owner's side: it sends a runtime whatever it likes. */
export interface PlayedPlane extends AsyncDisposable {
  /** Sends a call and gives the result that the runtime then sends for its id. */
  call(frame: Omit<CallFrame, "type" | "timeoutMs">): Promise<ResultFrame>;
  /** Tells the runtime that the result is stored. */
  acknowledge(callId: string): void;
}

/** Time that a runtime has for one answer. */
const PATIENCE_MS = 10_000;

/** Connects the service to a played control plane, by its real runtime. */
export async function startPlayedPlane(service: Service): Promise<PlayedPlane> {
  const waiting = new Map<string, (frame: ResultFrame) => void>();
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const linked = once(server, "connection") as Promise<[WebSocket]>;
  const connection = connect(service, {
    url: `ws://127.0.0.1:${port}`,
    key: "played",
    concurrency: 256,
    log: silentLog,
  });
  const [socket] = await linked;
  const send = (frame: PlaneFrame) => socket.send(JSON.stringify(frame));
  socket.on("message", (data) => {
    const frame = JSON.parse((data as Buffer).toString()) as RuntimeFrame;
    if (frame.type === "hello")
      send({ type: "welcome", connectionId: "played", agentId: "played", heartbeatMs: 60_000 });
    if (frame.type === "result") waiting.get(frame.callId)?.(frame);
  });
  await connection.ready;

  return {
    call(frame) {
      const { promise, resolve, reject } = Promise.withResolvers<ResultFrame>();
      const { callId } = frame;
      const timer = setTimeout(() => reject(new Error(`The runtime did not answer call ${callId}.`)), PATIENCE_MS);
      waiting.set(callId, resolve);
      send({ type: "call", timeoutMs: PATIENCE_MS, ...frame });
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(callId);
      });
    },
    acknowledge: (callId) => send({ type: "resultAck", callId }),
    async [Symbol.asyncDispose]() {
      await connection.stop({ drainMs: 0 });
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, "close");
    },
  };
}
