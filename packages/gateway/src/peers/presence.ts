import type { GatewayContext } from "../context.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { type Announcement, type ConnectionUpdate, PRESENCE_SUBJECT } from "./messages.ts";

/** Connections that open or close at about the same time, for instance after a restart, are announced together. */
const GATHER_MS = 50;
/** Connections in one message, which keeps it far below the bus limit. */
const BATCH = 400;

type PresenceContext = Pick<GatewayContext, "bus" | "replicaId">;

/** Announces this replica's connections to the others. */
export class Presence {
  readonly #context: PresenceContext;
  readonly #pending = new Map<RuntimeConnection, ConnectionUpdate["event"]>();
  /** The load that was last announced. */
  readonly #announced = new WeakMap<RuntimeConnection, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: PresenceContext) {
    this.#context = context;
  }

  announce(connection: RuntimeConnection, event: ConnectionUpdate["event"]): void {
    // A pending "opened" is not replaced by "changed": a replica that knows the runtime's previous connection would ignore
    // the new one.
    if (event !== "changed" || !this.#pending.has(connection)) this.#pending.set(connection, event);
    this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  /** Announces the connections whose load has changed since it was last announced. */
  announceLoads(connections: readonly RuntimeConnection[]): void {
    for (const connection of connections) {
      const isNew = connection.calls !== (this.#announced.get(connection) ?? 0);
      if (isNew && !this.#pending.has(connection)) this.#pending.set(connection, "changed");
    }
    if (this.#pending.size > 0) this.flush();
  }

  /** Sends pending announcements immediately. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const updates = [...this.#pending].map(([connection, event]) => updateOf(connection, event));
    for (const connection of this.#pending.keys()) this.#announced.set(connection, connection.calls);
    this.#pending.clear();
    for (let at = 0; at < updates.length; at += BATCH) {
      const connections = updates.slice(at, at + BATCH);
      this.#context.bus.publish(PRESENCE_SUBJECT, {
        replicaId: this.#context.replicaId,
        connections,
      } satisfies Announcement);
    }
  }
}

function updateOf(connection: RuntimeConnection, event: ConnectionUpdate["event"]): ConnectionUpdate {
  const { connectionId, agentId, instanceId, service, deployment, manifestHash, concurrency } = connection.identity;
  const { draining, calls } = connection;
  const offered = { service, ...(deployment !== undefined && { deployment }), manifestHash };
  return { event, connectionId, agentId, instanceId, ...offered, concurrency, draining, calls };
}
