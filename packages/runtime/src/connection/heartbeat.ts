import { clearTimer, monotonicMs, setInterval } from "@patchbay/kit/time";
import type { WebSocket } from "ws";
import type { Log } from "../log.ts";

const MAX_MISSED_PINGS = 2;
/**
 * Heartbeats without a tick that are a suspension, and the time for which a busy process may delay a tick. The control plane gives up a
 * call 2.5 s after two heartbeats, at the earliest.
 */
const SUSPENDED_BEATS = 2;
const LAG_MS = 1_000;

export interface Heartbeat {
  /** Finds out whether the process was suspended. */
  check(): void;
  stop(): void;
}

interface HeartbeatOptions {
  bytesRead: () => number | undefined;
  suspended: () => void;
  everyMs: number;
  log: Log;
}

/**
 * Pings the control plane, and ends the connection after two pings without any byte in return. Counts the bytes below the
 * WebSocket, because a large frame on a slow network delays the pong behind it. Counts ticks and not time, because a process that
 * was suspended would otherwise see a silent control plane when it resumes.
 */
export function startHeartbeat(socket: WebSocket, { bytesRead, suspended, everyMs, log }: HeartbeatOptions): Heartbeat {
  let seen = bytesRead();
  let missed = 0;
  let tickedAt = monotonicMs();
  function check(): void {
    if (monotonicMs() - tickedAt <= SUSPENDED_BEATS * everyMs + LAG_MS) return;
    tickedAt = monotonicMs();
    suspended();
  }
  socket.ping();
  const timer = setInterval(() => {
    check();
    tickedAt = monotonicMs();
    const now = bytesRead();
    missed = now === seen ? missed + 1 : 0;
    seen = now;
    if (missed < MAX_MISSED_PINGS) return socket.ping();
    log.warn("the control plane does not respond; closing the connection");
    socket.terminate();
  }, everyMs);
  return { check, stop: () => clearTimer(timer) };
}
