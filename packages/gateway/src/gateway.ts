import { clearTimer, setInterval } from "@patchbay/kit/time";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { LIMITS } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { createAccessWatch } from "@patchbay/engine/ports/access-watch";
import type { FunctionGateway } from "@patchbay/engine/ports/function-gateway";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { CallTracker } from "./calls/call-tracker.ts";
import { LateResults } from "./calls/late-results.ts";
import { createUnattended } from "./calls/unattended.ts";
import type { GatewayContext } from "./context.ts";
import { askCandidate } from "./shadow/candidate-bus.ts";
import { createShadows } from "./shadow/shadows.ts";
import { acceptRuntime } from "./handshake/handshake.ts";
import { closeWhenRevoked, createKeyQuota, type RuntimeKey } from "./handshake/runtime-keys.ts";
import { type Authenticate, createUpgrade } from "./handshake/upgrade.ts";
import { Connections } from "./local/connections.ts";
import { createConnectionRegistry, Directory } from "./peers/directory.ts";
import { createPresence } from "./peers/presence.ts";
import { receiveHostUpdates, reconcileCalls } from "./peers/reconcile.ts";
import { RemoteCallServer } from "./peers/remote-call-server.ts";
import type { RemoteChannelDeps } from "./peers/remote-channel.ts";
import { createCombinedSets, createManifestCache } from "./routing/manifests.ts";
import { createChannelWait, RuntimePicker } from "./routing/runtime-picker.ts";
import { ServingSets } from "./routing/serving-sets.ts";
import { createSessions } from "./routing/sessions.ts";
import { createSetChanges } from "./routing/set-changes.ts";
import { createSetOrders } from "./routing/set-order.ts";

/** How often loads are announced and failed writes retried. */
const HOUSEKEEPING_MS = 1_000;

export interface FunctionGatewayOptions extends Omit<GatewayContext, "metrics"> {
  authenticate: Authenticate;
  /** Returns the runtime keys that are neither revoked nor expired. */
  validCredentials(keyIds: readonly string[]): Promise<ReadonlySet<string>>;
  metrics?: GatewayContext["metrics"];
  /** Time between pings, in both directions; two missed ones end a connection. Default 5 s. */
  heartbeatMs?: number;
  /** How long to wait for a runtime's first frame. Default 5 s. */
  helloMs?: number;
  /**
   * How long to wait for a connection that closed during a call. Default: a runtime's longest pause and two heartbeats,
   * 12.5 s.
   */
  reconnectMs?: number;
  /** How long a handler that was asked to stop may still answer. Default 2 s. */
  stopGraceMs?: number;
  /**
   * How long to wait for a runtime that was seen in the last minute, at least until 20 s after a start. Default 15 s; 0
   * for not at all.
   */
  arrivalMs?: number;
  /** How long a connected runtime has to check a query's context. Default 5 s. */
  prepareMs?: number;
  /** How often to check the keys of open connections. Default 1 s. */
  keyCheckMs?: number;
  /** How often to read ended calls for a candidate. Default 1 s. */
  shadowMs?: number;
  /** How often to check calls at other replicas, and how long to wait for the answer. Default 2 s. */
  callCheckMs?: number;
}

/** The gateway, with what its process needs in addition to the port. */
export interface RuntimeGateway extends FunctionGateway {
  /** Accepts `GET /functions/connect` from the HTTP server's `upgrade` event. Never throws. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Serves a runtime on a socket whose key was checked. */
  accept(socket: WebSocket, transport: Duplex, key: RuntimeKey): void;
  /** How many runtimes are connected to this replica now, for one agent or all. */
  connectionCount(agentId?: string): number;
  /** Announces to all replicas that the agent was renamed, or one of its function sets confirmed. */
  agentChanged(agentId: string): void;
  /** Refuses new connections and asks runtimes to connect to another replica; open connections continue to serve. */
  goingAway(): void;
  /** Closes every connection. Pending calls reject with `unavailable`. */
  close(): Promise<void>;
}

/** Accepts runtime connections, and calls functions on all runtimes, including those connected to other replicas. */
export function createFunctionGateway(options: FunctionGatewayOptions): RuntimeGateway {
  const { store, within, replicaId, limits, metrics = silentMetrics, heartbeatMs = 5_000, helloMs = 5_000 } = options;
  const { advise, replay } = options;
  const log = options.log.child({ replicaId });
  const closing = new AbortController();
  const parts = createParts({ ...options, heartbeatMs, log, metrics }, closing.signal);
  const { registry, directory, tracker, sessions, picker, server, late, presence, running, shadows, changes } = parts;
  const connections = new Connections({ ...parts, store, calls: options.calls, within, metrics, log });
  directory.observe({
    opened: (channel) => tracker.channelOpened(channel),
    replaced: (connection) => connections.replaced(connection),
    changed: (agentId) => changes.occurred(agentId),
  });

  const { keyCheckMs: everyMs = 1_000, validCredentials: credential } = options;
  const access = running.use(createAccessWatch({ valid: { credential }, everyMs, log }));
  const quota = createKeyQuota(limits);
  const handshake = { ...parts, store, within, replicaId, limits, heartbeatMs, helloMs, log, metrics, advise, replay };
  function accept(socket: WebSocket, transport: Duplex, key: RuntimeKey): void {
    const { agentId, keyId } = key;
    connections.track(socket);
    closeWhenRevoked(socket, keyId, access);
    socket.on("error", (error) => log.debug("socket of a runtime failed", { agentId, error }));
    acceptRuntime(socket, transport, key, { ...handshake, events: connections }).catch((error: unknown) => {
      log.error("handshake with a runtime failed", { agentId, error });
      socket.terminate();
    });
  }

  const handleUpgrade = createUpgrade({
    authenticate: options.authenticate,
    accepts: () => !connections.leaving,
    quota,
    metrics,
    log,
    accepted: accept,
  });

  const every = (ms: number, work: () => void): void => void running.adopt(setInterval(work, ms), clearTimer);
  every(heartbeatMs, () => {
    connections.heartbeat();
    shadows.heartbeat();
  });
  every(HOUSEKEEPING_MS, () => {
    connections.housekeeping();
    server.tidy();
    quota.tidy();
  });

  return {
    ...sessions,
    assign: picker.assign,
    prepare: picker.prepare,
    runHook: picker.runHook,
    deliver: tracker.deliver,
    recover: tracker.recover,
    judge: askCandidate(options.bus),
    acknowledge: (call) => connections.acknowledge(call),
    stop: (call) => connections.stop(call),
    connected: (agentId) => directory.isConnected(agentId),
    onChange: changes.on,
    agentChanged: changes.announce,
    handleUpgrade,
    accept,
    connectionCount: (agentId) => (agentId === undefined ? registry.all() : registry.of(agentId)).length,
    goingAway() {
      connections.goingAway();
      shadows.goingAway();
    },
    async close() {
      running.dispose();
      closing.abort(new ServiceError("unavailable", "The control plane is stopping"));
      await connections.close();
      presence.flush();
      await Promise.all([connections.settled(), late.settled(), shadows.settled()]);
    },
  };
}

type PartsOptions = FunctionGatewayOptions & Required<Pick<FunctionGatewayOptions, "heartbeatMs" | "metrics">>;

/** A gateway's parts, from those that know connections to those that use them. `running` ends the background work. */
function createParts(options: PartsOptions, closed: AbortSignal) {
  const { store, calls, within, bus, replicaId, limits, clock, log, heartbeatMs } = options;
  const { callCheckMs = 2_000, stopGraceMs = 2_000, arrivalMs = 15_000, prepareMs = 5_000 } = options;
  const { reconnectMs = LIMITS.runtimeReturnMs + 2 * heartbeatMs } = options;
  const remote: RemoteChannelDeps = { bus, calls, replicaId, log, answerMs: callCheckMs, busy: new Set() };
  const registry = createConnectionRegistry();
  const directory = new Directory({ registry, store, remote, log });
  const presence = createPresence({ bus, replicaId });

  const manifests = createManifestCache(store);
  const orders = createSetOrders({ store, log });
  const serving = new ServingSets({ orders, manifests, limits, log });
  const combined = createCombinedSets({ store, manifests, limits });
  const wait = createChannelWait({ directory, store, clock, arrivalMs, closed });
  const sessions = createSessions({ directory, wait, serving, combined, manifests, store, limits });
  const picker = new RuntimePicker({ directory, wait, manifests, serving, clock, arrivalMs, prepareMs });

  // A runtime ends a connection within three heartbeats without a byte, and `reconnectMs` has two of them.
  const noticeMs = { closed: 0, gone: heartbeatMs, silent: 3 * heartbeatMs };
  const times = { reconnectMs, stopGraceMs, noticeMs };
  const tracker = new CallTracker({ directory, calls, times, clock, closed });
  const late = new LateResults({ calls, within, bus, log, answerMs: callCheckMs });
  const lifetimes = { graceMs: 2 * stopGraceMs, abandonedMs: 4 * callCheckMs };
  const unattended = createUnattended({ calls, within, bus, log });
  const server = new RemoteCallServer({ ...options, ...lifetimes, late });

  const running = new DisposableStack();
  running.use(receiveHostUpdates({ bus, replicaId, tracker }));
  running.use(reconcileCalls({ everyMs: callCheckMs, bus, calls, directory, busy: remote.busy, tracker, log }));
  running.use(directory);
  const changes = running.use(createSetChanges({ bus, orders }));
  running.use(late);
  const shadows = running.use(createShadows({ ...options, ...present({ everyMs: options.shadowMs }) }));
  const routing = { orders, serving, sessions, picker, changes };
  return { registry, directory, presence, ...routing, tracker, late, unattended, server, running, shadows };
}
