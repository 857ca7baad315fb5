import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { present } from "@patchbay/kit";
import type { GatewayContext } from "../context.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { type Announcement, type ConnectionUpdate, PRESENCE_SUBJECT } from "./messages.ts";

/** Connections that open or close at about the same time, for instance after a restart, are announced together. */
const GATHER_MS = 50;
/** Connections in one message, which keeps it far below the bus limit. */
const BATCH = 400;

/** Announces this replica's connections to the others. */
export function createPresence({ bus, replicaId }: Pick<GatewayContext, "bus" | "replicaId">) {
  const pending = new Map<RuntimeConnection, ConnectionUpdate["event"]>();
  /** The load that was last announced. */
  const announced = new WeakMap<RuntimeConnection, number>();
  let timer: NodeJS.Timeout | undefined;

  /** Sends pending announcements immediately. */
  function flush(): void {
    clearTimer(timer);
    timer = undefined;
    const updates = [...pending].map(([connection, event]) => updateOf(connection, event));
    for (const connection of pending.keys()) announced.set(connection, connection.calls);
    pending.clear();
    for (let at = 0; at < updates.length; at += BATCH) {
      const connections = updates.slice(at, at + BATCH);
      bus.publish(PRESENCE_SUBJECT, { replicaId, connections } satisfies Announcement);
    }
  }

  return {
    flush,
    announce(connection: RuntimeConnection, event: ConnectionUpdate["event"]): void {
      // A pending "opened" is not replaced by "changed": a replica that knows the runtime's previous connection would
      // ignore the new one.
      if (event !== "changed" || !pending.has(connection)) pending.set(connection, event);
      timer ??= setTimeout(flush, GATHER_MS);
    },
    /** Announces the connections whose load has changed since it was last announced. */
    announceLoads(connections: readonly RuntimeConnection[]): void {
      for (const connection of connections) {
        const isNew = connection.calls !== (announced.get(connection) ?? 0);
        if (isNew && !pending.has(connection)) pending.set(connection, "changed");
      }
      if (pending.size > 0) flush();
    },
  };
}
export type Presence = ReturnType<typeof createPresence>;

function updateOf(connection: RuntimeConnection, event: ConnectionUpdate["event"]): ConnectionUpdate {
  const { connectionId, agentId, instanceId, service, deployment, manifestHash, concurrency } = connection.identity;
  const identity = { connectionId, agentId, instanceId, service, ...present({ deployment }), manifestHash };
  return { event, ...identity, concurrency, draining: connection.draining, calls: connection.calls };
}
