import { monotonicMs } from "@patchbay/kit/time";
import { CLOSE_CODES, type OperatorLimits } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { WebSocket } from "ws";
import type { AccessWatch } from "@patchbay/engine/ports/access-watch";
import { closeSocket } from "../frames.ts";

/** An authenticated runtime key. */
export interface RuntimeKey {
  keyId: string;
  label?: string;
  agentId: string;
  orgId: string;
}

/** A runtime key's log fields. */
export const senderOf = ({ agentId, keyId, label }: RuntimeKey) => ({
  agentId,
  keyId,
  ...present({ keyLabel: label }),
});

/**
 * Closes the socket when its key expires or is revoked, also before its hello. `access` polls the store. While the
 * store is unavailable, connections stay open: closing them would turn its outage into one for every agent.
 */
export function closeWhenRevoked(socket: WebSocket, keyId: string, access: AccessWatch): void {
  const watched = access.hold({ kind: "credential", id: keyId }, () =>
    closeSocket(socket, CLOSE_CODES.keyRevoked, "the runtime key was revoked"),
  );
  socket.on("close", () => watched[Symbol.dispose]());
}

const MINUTE_MS = 60_000;
/** When a runtime that exceeded its key's connections may try again. */
const RETRY_S = 5;

/** A limit that a runtime key has reached. */
export interface QuotaRefusal {
  limit: "connectionsPerKey" | "hellosPerMinute";
  /** Says what happened and what to do. */
  message: string;
  retryAfterSeconds: number;
  /** False for a repetition within a minute, which is not logged again. */
  first: boolean;
}

interface KeyUse {
  sockets: Set<WebSocket>;
  /** When the last minute's connections were admitted, oldest first. */
  admittedAt: number[];
  warnedAt: number;
}

type QuotaLimits = Pick<OperatorLimits, "connectionsPerKey" | "hellosPerMinute">;

/** Limits how many connections one key's runtimes open to this replica. */
export function createKeyQuota({ connectionsPerKey, hellosPerMinute }: QuotaLimits, now: () => number = monotonicMs) {
  const keys = new Map<string, KeyUse>();

  function useOf(keyId: string): KeyUse {
    const use = keys.get(keyId) ?? { sockets: new Set(), admittedAt: [], warnedAt: Number.NEGATIVE_INFINITY };
    keys.set(keyId, use);
    return use;
  }

  function dropOld({ admittedAt }: KeyUse): void {
    const recent = admittedAt.findIndex((at) => at > now() - MINUTE_MS);
    admittedAt.splice(0, recent === -1 ? admittedAt.length : recent);
  }

  function limitReached({ sockets, admittedAt }: KeyUse): Omit<QuotaRefusal, "first"> | undefined {
    // A socket that is closing does not count: its runtime may already be reconnecting.
    const open = sockets.values().filter((socket) => socket.readyState === socket.OPEN);
    if ([...open].length >= connectionsPerKey)
      return {
        limit: "connectionsPerKey",
        message: `This runtime key has reached its limit of open connections (${connectionsPerKey}). Create another key for further runtimes (patchbay runtime-keys create --agent ID), stop unneeded ones, or ask the operator to raise connectionsPerKey.`,
        retryAfterSeconds: RETRY_S,
      };
    if (admittedAt.length >= hellosPerMinute)
      return {
        limit: "hellosPerMinute",
        message: `The runtimes of this key have reached its limit of new connections per minute (${hellosPerMinute}). Find out why they reconnect, use another runtime key, or ask the operator to raise hellosPerMinute.`,
        retryAfterSeconds: Math.max(1, Math.ceil((admittedAt[0]! + MINUTE_MS - now()) / 1_000)),
      };
    return undefined;
  }

  return {
    /** Counts a new connection, or returns why it is refused. Refused ones do not count. */
    refuse(keyId: string): QuotaRefusal | undefined {
      const use = useOf(keyId);
      dropOld(use);
      const reached = limitReached(use);
      if (!reached) return void use.admittedAt.push(now());
      const first = now() - use.warnedAt > MINUTE_MS;
      if (first) use.warnedAt = now();
      return { ...reached, first };
    },
    /** Counts the socket until it begins to close. */
    add(keyId: string, socket: WebSocket): void {
      const { sockets } = useOf(keyId);
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    },
    /** Removes keys that have no connection and opened none for a minute. */
    tidy(): void {
      for (const [keyId, use] of keys) {
        dropOld(use);
        if (use.sockets.size === 0 && use.admittedAt.length === 0) keys.delete(keyId);
      }
    },
  };
}
export type KeyQuota = ReturnType<typeof createKeyQuota>;
