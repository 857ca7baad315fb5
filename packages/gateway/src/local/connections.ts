import { CLOSE_CODES } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { AttemptAddress, CallAddress } from "@patchbay/engine/ports/function-gateway";
import type { CallTracker } from "../calls/call-tracker.ts";
import type { LateResults } from "../calls/late-results.ts";
import type { createUnattended } from "../calls/unattended.ts";
import type { GatewayContext } from "../context.ts";
import type { ConnectionRegistry, Directory } from "../peers/directory.ts";
import type { Presence } from "../peers/presence.ts";
import type { RemoteCallServer } from "../peers/remote-call-server.ts";
import type { FrameOf } from "../frames.ts";
import type { ConnectionEvents, ConnectionFrame } from "./frame-reader.ts";
import type { RuntimeConnection } from "./runtime-connection.ts";

interface ConnectionsDeps extends Pick<GatewayContext, "store" | "calls" | "within" | "metrics" | "log"> {
  registry: ConnectionRegistry;
  directory: Directory;
  tracker: CallTracker;
  server: RemoteCallServer;
  late: LateResults;
  unattended: ReturnType<typeof createUnattended>;
  presence: Presence;
}

const REPLACED = "this runtime opened a newer connection";

/** Follows this replica's connections from welcome to close, and passes their frames on. */
export class Connections implements ConnectionEvents {
  readonly #deps: ConnectionsDeps;
  /** Includes those whose handshake is not complete. */
  readonly #sockets = new Set<WebSocket>();
  readonly #writes = new Set<Promise<void>>();
  #leaving = false;
  #renewalFailed = false;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
  }

  /** True once the replica is stopping. */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** Closes the socket with the others, also before its handshake. */
  track(socket: WebSocket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  welcomed(connection: RuntimeConnection): void {
    const { registry, directory, server, presence, metrics, log } = this.#deps;
    if (this.#leaving) connection.send({ type: "goingAway" });
    const previous = registry.add(connection);
    const { agentId, instanceId, manifestHash, manifest } = connection.identity;
    log.info("runtime connected", { agentId, instanceId, manifestHash, functions: manifest.functions.length });
    // The previous connection's calls move: they are detached, and the runtime is asked about them over the new one.
    if (previous) this.#retire(previous);
    else metrics.runtimeConnected();
    server.open(connection);
    directory.connectionOpened(connection);
    presence.announce(connection, "opened");
    previous?.close(CLOSE_CODES.replaced, REPLACED);
  }

  /** Another replica has a newer connection of the runtime. */
  replaced(connection: RuntimeConnection): void {
    if (!this.#remove(connection)) return;
    const { agentId, instanceId } = connection.identity;
    this.#deps.log.info("runtime connected to another replica", { agentId, instanceId });
    connection.close(CLOSE_CODES.replaced, REPLACED);
  }

  closed(connection: RuntimeConnection, code: number): void {
    // A replaced connection closes after its removal; the store and the other replicas know the newer one.
    if (!this.#remove(connection)) return;
    const { agentId, instanceId, connectionId } = connection.identity;
    this.#deps.log.info("runtime disconnected", { agentId, instanceId, code });
    this.#deps.presence.announce(connection, "closed");
    this.#write(this.#deps.store.connectionClosed(connectionId));
  }

  frame(connection: RuntimeConnection, frame: ConnectionFrame, sizeBytes: number): void {
    const { tracker, server, unattended, calls, within } = this.#deps;
    switch (frame.type) {
      case "result": {
        const { error, ...result } = frame;
        if (!error) return this.#result(connection, result, sizeBytes);
        // Stored before the outcome: readers of the outcome find the error.
        const { agentId, instanceId, orgId } = connection.identity;
        const call = { agentId, instanceId, callId: frame.callId };
        const stored = within(orgId, () => calls.recordError(call, error));
        return this.#write(stored, () => this.#result(connection, result, sizeBytes));
      }
      // A run of this replica may wait for a call that the server still has for the former owner.
      case "progress": {
        const isHosted = server.progress(connection, frame);
        if (tracker.progress(connection, frame) || isHosted) return;
        return void unattended(connection, frame.callId, frame.data);
      }
      case "callState": {
        const isHosted = server.state(connection, frame);
        if (tracker.state(connection, frame) || isHosted || frame.state !== "running") return;
        return void unattended(connection, frame.callId);
      }
      case "prepared":
      case "hookResult":
        return connection.answered(frame);
      case "draining":
        return this.#draining(connection);
    }
  }

  #result(connection: RuntimeConnection, frame: FrameOf<"result">, sizeBytes: number): void {
    const { tracker, server, late } = this.#deps;
    const { callId, attempt, outcome } = frame;
    const { sentAt, replyTo } = server.ended(connection, frame);
    if (!tracker.result(connection.identity, frame, sentAt))
      late.add(connection, { callId, attempt, outcome, sentAt, replyTo }, sizeBytes);
  }

  /** Confirms a stored outcome to its runtime, if the runtime is connected to any replica. */
  acknowledge({ agentId, instanceId, ...stored }: AttemptAddress): void {
    this.#deps.directory.find(agentId, instanceId)?.acknowledge(stored);
  }

  stop({ agentId, instanceId, callId }: CallAddress): void {
    this.#deps.directory.find(agentId, instanceId)?.stop(callId);
  }

  /** Pings every connection, and renews their rows in the store: other replicas ignore rows that were not renewed. */
  heartbeat(): void {
    for (const connection of this.#deps.registry.all()) connection.heartbeat();
    this.#write(this.#renew());
  }

  /** Announces changed loads and retries a failed renewal. */
  housekeeping(): void {
    this.#deps.presence.announceLoads(this.#deps.registry.all());
    if (this.#renewalFailed) this.#write(this.#renew());
  }

  /** Asks every runtime to connect to another replica. */
  goingAway(): void {
    this.#leaving = true;
    for (const connection of this.#deps.registry.all()) connection.send({ type: "goingAway" });
  }

  /** Closes every socket. Resolves when all are closed. */
  async close(): Promise<void> {
    this.#leaving = true;
    const closed = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    for (const connection of this.#deps.registry.all())
      connection.close(CLOSE_CODES.goingAway, "the control plane is stopping");
    for (const socket of this.#sockets) if (socket.readyState === socket.OPEN) socket.terminate();
    await Promise.all(closed);
  }

  /** Resolves when every write in progress has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes);
  }

  #draining(connection: RuntimeConnection): void {
    if (connection.draining) return;
    connection.draining = true;
    this.#deps.tracker.connectionDraining(connection);
    this.#deps.server.drain(connection);
    this.#deps.presence.announce(connection, "changed");
    this.#write(this.#deps.store.connectionDraining(connection.identity.connectionId));
  }

  #remove(connection: RuntimeConnection): boolean {
    if (!this.#deps.registry.remove(connection)) return false;
    this.#retire(connection);
    this.#deps.metrics.runtimeDisconnected();
    return true;
  }

  /** The connection is no longer its runtime's current one. */
  #retire(connection: RuntimeConnection): void {
    this.#deps.server.close(connection);
    this.#deps.tracker.connectionClosed(connection);
    connection.retire();
  }

  async #renew(): Promise<void> {
    const connections = this.#deps.registry.all();
    this.#renewalFailed = false;
    if (connections.length === 0) return;
    const ids = connections.map(({ identity }) => identity.connectionId);
    await this.#deps.store.renewConnections(ids).catch((error: unknown) => {
      this.#renewalFailed = true;
      this.#deps.log.warn("heartbeat write failed", { connections: connections.length, error });
    });
  }

  /** Calls `then` also when the write fails. */
  #write(write: Promise<void>, then?: () => void): void {
    const written = write
      .catch((error: unknown) => this.#deps.log.warn("change not stored", { error }))
      .then(then)
      .finally(() => this.#writes.delete(written));
    this.#writes.add(written);
  }
}
