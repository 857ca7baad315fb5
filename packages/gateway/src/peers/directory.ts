import { monotonicMs } from "@patchbay/kit/time";
import type { JsonValue } from "@patchbay/kit";
import { createKeyedSets } from "@patchbay/engine/ports/by-key";
import type { ConnectedRuntime } from "@patchbay/engine/ports/store/stores";
import type { RuntimeChannel } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { Announcement, type ConnectionUpdate, PRESENCE_SUBJECT } from "./messages.ts";
import { RemoteChannel, type RemoteChannelDeps } from "./remote-channel.ts";

/** The store's answer about an agent's connections is used for this long; announcements arrive in addition. */
const FRESH_MS = 1_000;

/** An agent's runtimes that are connected to other replicas. */
interface RemoteRuntimes {
  channels: Map<string, { channel: RemoteChannel; learnedAt: number }>;
  readAt: number;
  reading: Promise<void> | undefined;
}

/** What the directory reports. */
export interface DirectoryEvents {
  /** A runtime has a new current channel, on this replica or another. */
  opened(channel: RuntimeChannel): void;
  /** Another replica has a newer connection of the runtime. */
  replaced(connection: RuntimeConnection): void;
  /** One of the agent's runtimes connected, disconnected or began to drain, at this replica or another. */
  changed(agentId: string): void;
}

interface DirectoryDeps extends Pick<GatewayContext, "store" | "log"> {
  registry: ConnectionRegistry;
  remote: RemoteChannelDeps;
}

/**
 * Knows which runtime is connected to which replica: this one's from the registry, others' from the store and from
 * announcements. Announcements are fast and may be lost, the store is complete and read at most once a second.
 */
export class Directory implements Disposable {
  readonly #deps: DirectoryDeps;
  readonly #agents = new Map<string, RemoteRuntimes>();
  readonly #waiting = createKeyedSets<() => void>();
  readonly #subscription: Disposable;
  #events: DirectoryEvents | undefined;

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
    this.#subscription = this.#deps.remote.bus.subscribe(PRESENCE_SUBJECT, (body) => this.#receive(body));
  }

  /** Sets the event receiver. Set once, before any runtime connects. */
  observe(events: DirectoryEvents): void {
    this.#events = events;
  }

  /** The agent's channels as known now. Reads the store in the background if it was not read for a second. */
  channels(agentId: string): RuntimeChannel[] {
    const remote = this.#agents.get(agentId)?.channels;
    const local = this.#deps.registry.of(agentId);
    const isKnown = local.length > 0 || (remote?.size ?? 0) > 0;
    if (isKnown) void this.refreshIfStale(agentId);
    if (!remote || remote.size === 0) return local;
    const others = [...remote.values()].map(({ channel }) => channel);
    return [...local, ...others.filter(({ identity }) => !this.#deps.registry.find(agentId, identity.instanceId))];
  }

  find(agentId: string, instanceId: string): RuntimeChannel | undefined {
    return (
      this.#deps.registry.find(agentId, instanceId) ?? this.#agents.get(agentId)?.channels.get(instanceId)?.channel
    );
  }

  /** Reads the store. Never rejects: while the store is unavailable, nothing changes. */
  refresh(agentId: string): Promise<void> {
    const remote = this.#remoteOf(agentId);
    remote.reading ??= this.#read(agentId)
      .catch((error: unknown) => this.#deps.log.debug("connections of an agent could not be read", { agentId, error }))
      .finally(() => {
        remote.reading = undefined;
        if (remote.channels.size === 0 && !this.#deps.registry.has(agentId)) this.#agents.delete(agentId);
      });
    return remote.reading;
  }

  /** Reads the store if it was not read for a second. */
  async refreshIfStale(agentId: string): Promise<void> {
    if (monotonicMs() - this.#remoteOf(agentId).readAt > FRESH_MS) await this.refresh(agentId);
  }

  /**
   * True when any of the agent's runtimes is connected now, to any replica. The store decides about a closed channel:
   * its host may be disconnected from the bus, and still have the runtime.
   */
  async isConnected(agentId: string): Promise<boolean> {
    const isOpen = (channel: RuntimeChannel): boolean => channel.open;
    if (this.channels(agentId).some(isOpen)) return true;
    await this.refresh(agentId);
    return this.channels(agentId).some((channel) => !channel.local || channel.open);
  }

  /** Makes one of this replica's connections its runtime's current channel. */
  connectionOpened(connection: RuntimeConnection): void {
    const { agentId, instanceId } = connection.identity;
    const channels = this.#agents.get(agentId)?.channels;
    const remote = channels?.get(instanceId)?.channel;
    channels?.delete(instanceId);
    remote?.closed();
    this.#opened(connection);
  }

  /** Calls `arrived` after each new channel for the agent, until disposed. */
  onArrival(agentId: string, arrived: () => void): Disposable {
    return this.#waiting.add(agentId, arrived);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #opened(channel: RuntimeChannel): void {
    this.#events?.opened(channel);
    for (const arrived of this.#waiting.of(channel.identity.agentId)) arrived();
  }

  #remoteOf(agentId: string): RemoteRuntimes {
    const known = this.#agents.get(agentId);
    if (known) return known;
    const remote: RemoteRuntimes = { channels: new Map(), readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    this.#agents.set(agentId, remote);
    return remote;
  }

  /** The runtime's remote channel; a new one if its connection has changed. `usable`: it was not usable before. */
  #learn(row: Omit<ConnectedRuntime, "replicaId">): { channel: RemoteChannel; usable: boolean } {
    const { draining, ...identity } = row;
    const { channels } = this.#remoteOf(row.agentId);
    const known = channels.get(row.instanceId)?.channel;
    if (known?.identity.connectionId === row.connectionId) {
      const usable = known.draining && !draining;
      known.draining = draining;
      return { channel: known, usable };
    }
    const channel = new RemoteChannel(identity, this.#deps.remote);
    channel.draining = draining;
    channels.set(row.instanceId, { channel, learnedAt: monotonicMs() });
    known?.closed();
    return { channel, usable: true };
  }

  async #read(agentId: string): Promise<void> {
    const beganAt = monotonicMs();
    const rows = await this.#deps.store.connections(agentId);
    const remote = this.#remoteOf(agentId);
    remote.readAt = beganAt;
    const listed = new Set<string>();
    for (const { replicaId, ...row } of rows) {
      const local = this.#deps.registry.find(agentId, row.instanceId);
      if (replicaId === this.#deps.remote.replicaId) continue;
      listed.add(row.instanceId);
      // An announcement during the read is newer than the store's answer, which may still name the previous connection.
      const known = remote.channels.get(row.instanceId);
      if (known && known.learnedAt > beganAt) continue;
      const { channel, usable } = this.#learn(row);
      // For the same reason an older remote connection does not replace one that opened here during the read.
      if (local && local.openedAt < beganAt) this.#events?.replaced(local);
      if (usable) this.#opened(channel);
    }
    for (const [instanceId, { learnedAt }] of remote.channels)
      if (!listed.has(instanceId) && learnedAt <= beganAt) remote.channels.delete(instanceId);
  }

  #receive(body: JsonValue): void {
    const parsed = Announcement.safeParse(body);
    if (!parsed.success) return;
    const { replicaId, connections } = parsed.data;
    if (replicaId !== this.#deps.remote.replicaId) this.#learnAll(connections);
    // Other announcements concern only loads.
    const changed = connections.filter(({ event, draining }) => event !== "changed" || draining);
    for (const agentId of new Set(changed.map(({ agentId }) => agentId))) this.#events?.changed(agentId);
  }

  #learnAll(connections: readonly ConnectionUpdate[]): void {
    const contested = new Set<string>();
    for (const update of connections) {
      this.#apply(update);
      const isHere = this.#deps.registry.find(update.agentId, update.instanceId) !== undefined;
      if (update.event === "opened" && isHere) contested.add(update.agentId);
    }
    // Two replicas have a connection to one runtime, and announcements are not ordered: the store knows which one is
    // newer.
    for (const agentId of contested) void this.#refreshAfterRead(agentId);
  }

  /** A read that has already begun may predate the newer connection, so another one follows it. */
  async #refreshAfterRead(agentId: string): Promise<void> {
    await this.#agents.get(agentId)?.reading;
    await this.refresh(agentId);
  }

  #apply({ event, calls, ...row }: ConnectionUpdate): void {
    const channels = this.#agents.get(row.agentId)?.channels;
    const known = channels?.get(row.instanceId)?.channel;
    const isSame = known?.identity.connectionId === row.connectionId;
    if (event === "closed") {
      if (!isSame) return;
      channels?.delete(row.instanceId);
      return known.closed();
    }
    // Ignore "changed" for another connection than the known one: it may be stale. Only "opened" replaces a connection.
    if (!isSame && known && event === "changed") return;
    const wasClosed = isSame && !known.open;
    const { channel, usable } = this.#learn(row);
    channel.announced({ draining: row.draining, calls });
    if (usable || wasClosed) this.#opened(channel);
  }
}

/** This replica's current connections, by agent and runtime. */
export function createConnectionRegistry() {
  const agents = new Map<string, Map<string, RuntimeConnection>>();
  const find = (agentId: string, instanceId: string) => agents.get(agentId)?.get(instanceId);

  function remove(connection: RuntimeConnection): boolean {
    const { agentId, instanceId } = connection.identity;
    if (find(agentId, instanceId) !== connection) return false;
    const connections = agents.get(agentId);
    connections?.delete(instanceId);
    if (connections?.size === 0) agents.delete(agentId);
    return true;
  }

  return {
    /** Makes the connection its runtime's current one and returns the one that it replaces. */
    add(connection: RuntimeConnection): RuntimeConnection | undefined {
      const { agentId, instanceId } = connection.identity;
      const previous = find(agentId, instanceId);
      if (previous) remove(previous);
      const connections = agents.get(agentId) ?? new Map<string, RuntimeConnection>();
      agents.set(agentId, connections.set(instanceId, connection));
      return previous;
    },
    /** Removes the connection and returns true if it is still its runtime's current one: a replaced one closes later. */
    remove,
    find,
    has: (agentId: string): boolean => agents.has(agentId),
    /** The agent's connections, oldest first. */
    of: (agentId: string): RuntimeConnection[] => [...(agents.get(agentId)?.values() ?? [])],
    all: (): RuntimeConnection[] => [...agents.values()].flatMap((connections) => [...connections.values()]),
  };
}
export type ConnectionRegistry = ReturnType<typeof createConnectionRegistry>;
