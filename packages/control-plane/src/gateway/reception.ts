import type { Duplex } from "node:stream";
import { LINK_CLOSE, type OperatorLimits, type RuntimeFrame } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { RuntimeStore, Store } from "../ports/stores.ts";
import { FrameBudget } from "./frame-budget.ts";
import { parseRuntimeFrame } from "./frames.ts";
import { greet } from "./greeting.ts";
import type { Joining } from "./joining.ts";
import { Link } from "./link.ts";
import type { RuntimeKey } from "./upgrade.ts";

const BAD_FRAMES = 10;
/** A connection that sends more frames than its limit for this long is closed. */
const EXCESS_MS = 10_000;
/** Nothing is read from it for a while then, longer each time: the process has others to serve. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/** What a runtime says once it was welcomed. */
export type LinkFrame = Exclude<RuntimeFrame, { type: "hello" }>;

/** What becomes of a link from its hello to its end. */
export interface LinkEvents {
  /** The runtime was told that it is welcome. */
  welcomed(link: Link): void;
  frame(link: Link, frame: LinkFrame, sizeBytes: number): void;
  ended(link: Link, code: number): void;
}

type RefusalMetrics = Pick<Metrics, "runtimeRefused" | "frameDropped">;

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
    limits: OperatorLimits;
    heartbeatMs: number;
    helloMs: number;
    log: Log;
    metrics: RefusalMetrics;
    events: LinkEvents;
  },
): Promise<void> {
  const { heartbeatMs, limits, events } = deps;
  const identity = await greet(socket, key, deps);
  if (!identity) return;
  const link = new Link(identity, socket, transport);
  listen(link, socket, deps);
  const { connectionId, agentId } = identity;
  link.send({ type: "welcome", connectionId, agentId, heartbeatMs, framesPerSecond: limits.framesPerSecond });
  events.welcomed(link);
}

/** Results are read from a replaced link until it is closed: they were on their way. */
function listen(
  link: Link,
  socket: WebSocket,
  { limits, log, metrics, events }: { limits: OperatorLimits; log: Log; metrics: RefusalMetrics; events: LinkEvents },
): void {
  const { agentId, instanceId } = link.identity;
  const withinBudget = limitFrames(link, socket, { limits, log, metrics });
  let badFrames = 0;
  socket.on("message", (data, isBinary) => {
    const bytes = data as Buffer;
    const parsed = parseRuntimeFrame(isBinary ? "" : bytes.toString());
    if (parsed.ok && parsed.frame.type !== "hello") {
      if (link.answers(parsed.frame) || withinBudget()) events.frame(link, parsed.frame, bytes.length);
      return;
    }
    if (badFrames++ >= BAD_FRAMES) return;
    log.warn("bad frame", { agentId, instanceId, fault: parsed.ok ? "a second hello" : parsed.message });
    if (badFrames === BAD_FRAMES) link.close(LINK_CLOSE.badFrame, "too many malformed frames");
  });
  // Each is answered, and the answers pile up where the runtime does not read them.
  socket.on("ping", () => void withinBudget());
  socket.on("close", (code) => events.ended(link, code));
}

/** Says of each frame that nothing asked for whether it may pass. Beyond the limit it is dropped, and the connection is read more slowly, then closed. */
function limitFrames(
  link: Link,
  socket: WebSocket,
  { limits, log, metrics }: { limits: OperatorLimits; log: Log; metrics: RefusalMetrics },
): () => boolean {
  const { agentId, instanceId, keyId } = link.identity;
  const { framesPerSecond, frameBurst } = limits;
  const budget = new FrameBudget(limits);
  let pauseMs = FIRST_PAUSE_MS;

  function pause(longestMs: number): void {
    socket.pause();
    setTimeout(() => link.open && socket.resume(), Math.min(pauseMs, longestMs)).unref();
    pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs);
  }

  return () => {
    const excess = budget.take();
    if (!excess) return true;
    metrics.frameDropped();
    if (!link.open) return false;
    if (excess.dropped === 1) {
      pauseMs = FIRST_PAUSE_MS;
      log.warn("dropped frames of a runtime", { agentId, instanceId, keyId, framesPerSecond, frameBurst });
    }
    if (excess.forMs >= EXCESS_MS) {
      metrics.runtimeRefused("tooManyFrames");
      log.warn("refused a runtime", { agentId, instanceId, keyId, fault: "tooManyFrames", dropped: excess.dropped });
      link.close(LINK_CLOSE.tooManyFrames, `over ${framesPerSecond} frames a second for ${EXCESS_MS / 1_000} s`);
    } else if (!socket.isPaused) pause(EXCESS_MS - excess.forMs);
    return false;
  };
}
