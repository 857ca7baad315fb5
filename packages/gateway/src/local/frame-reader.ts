import { monotonicMs, setTimeout } from "@patchbay/kit/time";
import { CLOSE_CODES, type OperatorLimits, type RuntimeFrame } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { GatewayContext } from "../context.ts";
import { parseRuntimeFrame } from "../frames.ts";
import type { RuntimeConnection } from "./runtime-connection.ts";

/** Malformed frames after which a connection is closed. */
const MAX_BAD_FRAMES = 10;
/** A connection that exceeds its frame limit for this long is closed. */
const MAX_EXCESS_MS = 10_000;
/** Before that, pauses its socket, longer each time: one runtime's flood must not delay the replica's others. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;
/** An excess has ended when no frame was dropped for this long: longer than the socket's longest pause. */
const QUIET_MS = 3_000;

/** A runtime's frame after its hello. */
export type ConnectionFrame = Exclude<RuntimeFrame, { type: "hello" | "shadow" | "judged" }>;

const isConnectionFrame = (frame: RuntimeFrame): frame is ConnectionFrame =>
  frame.type !== "hello" && frame.type !== "shadow" && frame.type !== "judged";

/** Receives a connection's events, from its welcome to its close. */
export interface ConnectionEvents {
  /** The runtime was sent its welcome. */
  welcomed(connection: RuntimeConnection): void;
  frame(connection: RuntimeConnection, frame: ConnectionFrame, sizeBytes: number): void;
  closed(connection: RuntimeConnection, code: number): void;
}

interface ReaderDeps extends Pick<GatewayContext, "limits" | "log" | "metrics"> {
  events: Pick<ConnectionEvents, "frame" | "closed">;
}

/**
 * Reads a connection's frames until its socket is closed. A replaced connection is still read: its last results are on
 * their way.
 */
export function readFrames(connection: RuntimeConnection, socket: WebSocket, deps: ReaderDeps): void {
  const { log, events } = deps;
  const { agentId, instanceId } = connection.identity;
  const admits = createFrameLimiter(connection, socket, deps);
  let badFrames = 0;
  socket.on("message", (data, isBinary) => {
    const bytes = data as Buffer;
    const parsed = parseRuntimeFrame(isBinary ? "" : bytes.toString());
    if (parsed.ok && isConnectionFrame(parsed.frame)) {
      if (connection.isExpected(parsed.frame) || admits()) events.frame(connection, parsed.frame, bytes.length);
      return;
    }
    if (badFrames++ >= MAX_BAD_FRAMES) return;
    log.warn("bad frame", {
      agentId,
      instanceId,
      fault: parsed.ok ? `${parsed.frame.type} after the hello` : parsed.message,
    });
    if (badFrames === MAX_BAD_FRAMES) connection.close(CLOSE_CODES.badFrame, "too many malformed frames");
  });
  // Pings count too: each is answered, and unread answers would fill the memory.
  socket.on("ping", () => void admits());
  socket.on("close", (code) => events.closed(connection, code));
}

/**
 * Limits the frames that a runtime sends unasked: drops those beyond the limit, reads the socket more slowly, then
 * closes it. Returns false for a frame that is to be dropped.
 */
function createFrameLimiter(connection: RuntimeConnection, socket: WebSocket, { limits, log, metrics }: ReaderDeps) {
  const { agentId, instanceId, keyId } = connection.identity;
  const { framesPerSecond, frameBurst } = limits;
  const excessOf = createFrameBudget(limits);
  let pauseMs = FIRST_PAUSE_MS;

  function pause(longestMs: number): void {
    socket.pause();
    setTimeout(() => connection.open && socket.resume(), Math.min(pauseMs, longestMs)).unref();
    pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs);
  }

  return (): boolean => {
    const excess = excessOf();
    if (!excess) return true;
    metrics.frameDropped();
    if (!connection.open) return false;
    if (excess.dropped === 1) {
      pauseMs = FIRST_PAUSE_MS;
      log.warn("dropped frames of a runtime", { agentId, instanceId, keyId, framesPerSecond, frameBurst });
    }
    if (excess.forMs >= MAX_EXCESS_MS) {
      metrics.runtimeRefused("tooManyFrames");
      log.warn("refused a runtime", { agentId, instanceId, keyId, fault: "tooManyFrames", dropped: excess.dropped });
      const seconds = MAX_EXCESS_MS / 1_000;
      connection.close(CLOSE_CODES.tooManyFrames, `over ${framesPerSecond} frames a second for ${seconds} s`);
    } else if (!socket.isPaused) pause(MAX_EXCESS_MS - excess.forMs);
    return false;
  };
}

/**
 * The frames that one connection may send unasked: a token bucket. The returned function counts a frame. Undefined when
 * the frame is within the limit; else how many frames this excess has dropped, and its duration.
 */
export function createFrameBudget(
  { framesPerSecond, frameBurst }: Pick<OperatorLimits, "framesPerSecond" | "frameBurst">,
  now: () => number = monotonicMs,
) {
  let tokens = frameBurst;
  let countedAt = now();
  /** Frames beyond the limit, from the first to the last. */
  let excess: { since: number; lastAt: number; dropped: number } | undefined;

  return (): { dropped: number; forMs: number } | undefined => {
    const at = now();
    tokens = Math.min(frameBurst, tokens + ((at - countedAt) / 1_000) * framesPerSecond);
    countedAt = at;
    if (tokens >= 1) return void tokens--;
    if (!excess || at - excess.lastAt > QUIET_MS) excess = { since: at, lastAt: at, dropped: 0 };
    excess.lastAt = at;
    return { dropped: ++excess.dropped, forMs: at - excess.since };
  };
}
