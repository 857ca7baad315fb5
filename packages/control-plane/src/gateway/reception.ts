import type { Duplex } from "node:stream";
import { LINK_CLOSE, type RuntimeFrame } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { Log } from "../ports/log.ts";
import type { RuntimeStore, Store } from "../ports/stores.ts";
import { parseRuntimeFrame } from "./frames.ts";
import { greet } from "./greeting.ts";
import type { Joining } from "./joining.ts";
import { Link } from "./link.ts";
import type { RuntimeKey } from "./upgrade.ts";

const BAD_FRAMES = 10;

/** What a runtime says once it was welcomed. */
export type LinkFrame = Exclude<RuntimeFrame, { type: "hello" }>;

/** What becomes of a link from its hello to its end. */
export interface LinkEvents {
  /** The runtime was told that it is welcome. */
  welcomed(link: Link): void;
  frame(link: Link, frame: LinkFrame, sizeBytes: number): void;
  ended(link: Link, code: number): void;
}

/** Greets the runtime on a new socket and listens to it. */
export async function receiveRuntime(
  socket: WebSocket,
  transport: Duplex,
  key: RuntimeKey,
  deps: {
    store: RuntimeStore;
    join: Joining["join"];
    within: Store["within"];
    replicaId: string;
    heartbeatMs: number;
    helloMs: number;
    log: Log;
    events: LinkEvents;
  },
): Promise<void> {
  const { heartbeatMs, log, events } = deps;
  const identity = await greet(socket, key, deps);
  if (!identity) return;
  const link = new Link(identity, socket, transport);
  listen(link, socket, log, events);
  const { connectionId, agentId } = identity;
  link.send({ type: "welcome", connectionId, agentId, heartbeatMs });
  events.welcomed(link);
}

/** Results are read from a replaced link until it is closed: they were on their way. */
function listen(link: Link, socket: WebSocket, log: Log, events: LinkEvents): void {
  const { agentId, instanceId } = link.identity;
  let badFrames = 0;
  socket.on("message", (data, isBinary) => {
    const bytes = data as Buffer;
    const parsed = parseRuntimeFrame(isBinary ? "" : bytes.toString());
    if (parsed.ok && parsed.frame.type !== "hello") return events.frame(link, parsed.frame, bytes.length);
    if (badFrames++ >= BAD_FRAMES) return undefined;
    log.warn("bad frame", { agentId, instanceId, fault: parsed.ok ? "a second hello" : parsed.message });
    if (badFrames === BAD_FRAMES) link.close(LINK_CLOSE.badFrame, "too many malformed frames");
    return undefined;
  });
  socket.on("close", (code) => events.ended(link, code));
}
