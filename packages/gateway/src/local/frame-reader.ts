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
  const limiter = new FrameLimiter(connection, socket, deps);
  let badFrames = 0;
  socket.on("message", (data, isBinary) => {
    const bytes = data as Buffer;
    const parsed = parseRuntimeFrame(isBinary ? "" : bytes.toString());
    if (parsed.ok && isConnectionFrame(parsed.frame)) {
      if (connection.isExpected(parsed.frame) || limiter.admits()) events.frame(connection, parsed.frame, bytes.length);
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
  socket.on("ping", () => void limiter.admits());
  socket.on("close", (code) => events.closed(connection, code));
}

/**
 * Limits the frames that a runtime sends unasked: drops those beyond the limit, reads the socket more slowly, then
 * closes it.
 */
class FrameLimiter {
  readonly #connection: RuntimeConnection;
  readonly #socket: WebSocket;
  readonly #deps: Pick<ReaderDeps, "limits" | "log" | "metrics">;
  readonly #budget: FrameBudget;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(connection: RuntimeConnection, socket: WebSocket, deps: Pick<ReaderDeps, "limits" | "log" | "metrics">) {
    this.#connection = connection;
    this.#socket = socket;
    this.#deps = deps;
    this.#budget = new FrameBudget(deps.limits);
  }

  /** False when the frame is to be dropped. */
  admits(): boolean {
    const excess = this.#budget.take();
    if (!excess) return true;
    const { log, metrics, limits } = this.#deps;
    const { agentId, instanceId, keyId } = this.#connection.identity;
    const { framesPerSecond, frameBurst } = limits;
    metrics.frameDropped();
    if (!this.#connection.open) return false;
    if (excess.dropped === 1) {
      this.#pauseMs = FIRST_PAUSE_MS;
      log.warn("dropped frames of a runtime", { agentId, instanceId, keyId, framesPerSecond, frameBurst });
    }
    if (excess.forMs >= MAX_EXCESS_MS) {
      metrics.runtimeRefused("tooManyFrames");
      log.warn("refused a runtime", { agentId, instanceId, keyId, fault: "tooManyFrames", dropped: excess.dropped });
      const seconds = MAX_EXCESS_MS / 1_000;
      this.#connection.close(CLOSE_CODES.tooManyFrames, `over ${framesPerSecond} frames a second for ${seconds} s`);
    } else if (!this.#socket.isPaused) this.#pause(MAX_EXCESS_MS - excess.forMs);
    return false;
  }

  #pause(longestMs: number): void {
    this.#socket.pause();
    setTimeout(() => this.#connection.open && this.#socket.resume(), Math.min(this.#pauseMs, longestMs)).unref();
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.#pauseMs);
  }
}

/** Frames beyond the limit, from the first to the last. */
interface Excess {
  since: number;
  lastAt: number;
  dropped: number;
}

/** The frames that one connection may send unasked: a token bucket. */
export class FrameBudget {
  readonly #rate: number;
  readonly #burst: number;
  readonly #now: () => number;
  #tokens: number;
  #at: number;
  #excess: Excess | undefined;

  constructor(
    { framesPerSecond, frameBurst }: Pick<OperatorLimits, "framesPerSecond" | "frameBurst">,
    now: () => number = () => performance.now(),
  ) {
    this.#rate = framesPerSecond;
    this.#burst = frameBurst;
    this.#now = now;
    this.#tokens = frameBurst;
    this.#at = now();
  }

  /** Undefined when the frame is within the limit; else how many frames this excess has dropped, and its duration. */
  take(): { dropped: number; forMs: number } | undefined {
    const now = this.#now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1_000) * this.#rate);
    this.#at = now;
    if (this.#tokens >= 1) {
      this.#tokens--;
      return undefined;
    }
    const last = this.#excess;
    const excess = last && now - last.lastAt <= QUIET_MS ? last : { since: now, lastAt: now, dropped: 0 };
    this.#excess = excess;
    excess.lastAt = now;
    return { dropped: ++excess.dropped, forMs: now - excess.since };
  }
}
