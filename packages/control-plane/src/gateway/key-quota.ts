import type { OperatorLimits } from "@patchbay/protocol";
import type { WebSocket } from "ws";

const MINUTE_MS = 60_000;
/** When a runtime that found no place may try again. */
const NO_PLACE_S = 5;

/** A limit that a runtime key has reached. */
export interface QuotaRefusal {
  limit: "connectionsPerKey" | "hellosPerMinute";
  /** Says what happened and what to do. */
  message: string;
  retryAfterSeconds: number;
  /** False for a repetition within a minute: one line of the log is enough for it. */
  first: boolean;
}

/** Bounds what the runtimes of one key may open on this replica. */
export interface KeyQuota {
  /** Counts a further connection; undefined when it is within the limits. Refused ones do not count. */
  refuse(keyId: string): QuotaRefusal | undefined;
  /** Counts the socket until its close begins. */
  add(keyId: string, socket: WebSocket): void;
  /** Forgets keys that have no connection and opened none for a minute. */
  tidy(): void;
}

interface KeyUse {
  sockets: Set<WebSocket>;
  /** When connections were admitted in the last minute, oldest first. */
  admittedAt: number[];
  warnedAt: number;
}

export function createKeyQuota(
  limits: Pick<OperatorLimits, "connectionsPerKey" | "hellosPerMinute">,
  now: () => number = () => performance.now(),
): KeyQuota {
  const { connectionsPerKey, hellosPerMinute } = limits;
  const keys = new Map<string, KeyUse>();

  function useOf(keyId: string): KeyUse {
    const known = keys.get(keyId);
    if (known) return known;
    const fresh: KeyUse = { sockets: new Set(), admittedAt: [], warnedAt: Number.NEGATIVE_INFINITY };
    keys.set(keyId, fresh);
    return fresh;
  }

  function forgetMinute({ admittedAt }: KeyUse): void {
    const recent = admittedAt.findIndex((at) => at > now() - MINUTE_MS);
    admittedAt.splice(0, recent === -1 ? admittedAt.length : recent);
  }

  function limitReached({ sockets, admittedAt }: KeyUse): Omit<QuotaRefusal, "first"> | undefined {
    const open = sockets.values().filter((socket) => socket.readyState === socket.OPEN);
    if ([...open].length >= connectionsPerKey)
      return {
        limit: "connectionsPerKey",
        message: `This runtime key has ${connectionsPerKey} open connections, which is its limit. Stop runtimes that are not needed, use another runtime key, or let the operator raise connectionsPerKey.`,
        retryAfterSeconds: NO_PLACE_S,
      };
    if (admittedAt.length >= hellosPerMinute)
      return {
        limit: "hellosPerMinute",
        message: `The runtimes of this key opened ${hellosPerMinute} connections within a minute, which is the limit. Find out why they reconnect, use another runtime key, or let the operator raise hellosPerMinute.`,
        retryAfterSeconds: Math.max(1, Math.ceil((admittedAt[0]! + MINUTE_MS - now()) / 1_000)),
      };
    return undefined;
  }

  return {
    refuse(keyId) {
      const use = useOf(keyId);
      forgetMinute(use);
      const reached = limitReached(use);
      if (!reached) {
        use.admittedAt.push(now());
        return undefined;
      }
      const first = now() - use.warnedAt > MINUTE_MS;
      if (first) use.warnedAt = now();
      return { ...reached, first };
    },
    add(keyId, socket) {
      const { sockets } = useOf(keyId);
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    },
    tidy() {
      for (const [keyId, use] of keys) {
        forgetMinute(use);
        if (use.sockets.size === 0 && use.admittedAt.length === 0) keys.delete(keyId);
      }
    },
  };
}
