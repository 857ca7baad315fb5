import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { LIMITS, LINK_CLOSE, type OperatorLimits } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { Bus } from "../ports/bus.ts";
import type { Clock } from "../ports/clock.ts";
import type { CallAddress, FunctionGateway } from "../ports/function-gateway.ts";
import type { Log } from "../ports/log.ts";
import { silentMetrics, type Metrics } from "../ports/metrics.ts";
import type { CallStore } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import type { RuntimeStore, Store } from "../ports/stores.ts";
import { createAccessWatch } from "../access-watch.ts";
import { createAnnouncer } from "./announcer.ts";
import { createChoice } from "./choice.ts";
import { createDeliveries } from "./delivery.ts";
import { createDirectory } from "./directory.ts";
import { createHolder } from "./holder.ts";
import { hearHolders } from "./inbox.ts";
import { createKeyQuota } from "./key-quota.ts";
import { createLateResults } from "./late-results.ts";
import { openFunctionSets } from "./function-sets.ts";
import { closeSocket, type Link } from "./link.ts";
import { type LinkFrame, receiveRuntime } from "./reception.ts";
import { createRegistry } from "./registry.ts";
import type { RemoteWays } from "./remote-line.ts";
import { watchRemoteCalls } from "./remote-watch.ts";
import { type Authenticate, createUpgrade } from "./upgrade.ts";

/** Loads are announced, and what was not stored is tried again, this often. */
const HOUSEKEEPING_MS = 1_000;
/** A silent link is ended within so many heartbeats, by either side. */
const SILENT_BEATS = 3;

export interface FunctionGatewayOptions {
  store: RuntimeStore;
  calls: CallStore;
  /** Stores what concerns a runtime as its organisation. */
  within: Store["within"];
  /** The way to the runtimes of other replicas. */
  bus: Bus;
  authenticate: Authenticate;
  /** Which of these runtime keys are neither revoked nor expired. */
  validCredentials(keyIds: readonly string[]): Promise<ReadonlySet<string>>;
  replicaId: string;
  limits: OperatorLimits;
  clock: Clock;
  log: Log;
  metrics?: Pick<
    Metrics,
    "runtimeConnected" | "runtimeDisconnected" | "runtimeRefused" | "frameDropped" | "accessWidened"
  >;
  /** Pings each way; two silent ones end a link. Default 5 s. */
  heartbeatMs?: number;
  /** How long a runtime has for its first frame. Default 5 s. */
  helloMs?: number;
  /** How long a link lost in mid-call is waited for. Default: the longest pause of a runtime and two heartbeats, 12.5 s. */
  reconnectMs?: number;
  /** How long a handler that was told to stop may still answer. Default 2 s. */
  stopGraceMs?: number;
  /** How long a runtime that was seen in the last minute is waited for. Default 15 s. */
  arrivalMs?: number;
  /** How long a connected runtime has to check the context of a query. Default 5 s. */
  prepareMs?: number;
  /** How often the keys of the links are looked up again. Default 1 s. */
  keyCheckMs?: number;
  /** How often calls at other replicas are asked about, and how long an answer is waited for. Default 2 s. */
  callCheckMs?: number;
}

/** The gateway with what its process needs of it beside the port. */
export interface RuntimeGateway extends FunctionGateway {
  /** Takes `GET /functions/connect` from the HTTP server's `upgrade` event. Never throws. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Runtimes connected to this replica now, of one agent or of all. */
  connectionCount(agentId?: string): number;
  /** Closes the links of a revoked key now; a revocation elsewhere is noticed within `keyCheckMs`. */
  revoke(keyId: string): void;
  /** Refuses new links and asks runtimes to connect elsewhere; open links serve on. */
  goingAway(): void;
  /** Closes every link. Calls that are still waited for reject with `unavailable`. */
  close(): Promise<void>;
}

export function createFunctionGateway(options: FunctionGatewayOptions): RuntimeGateway {
  const { store, calls, within, bus, replicaId, limits, clock, metrics = silentMetrics } = options;
  const { heartbeatMs = 5_000, helloMs = 5_000, callCheckMs = 2_000, stopGraceMs = 2_000 } = options;
  const log = options.log.child({ replicaId });
  const registry = createRegistry();
  const closing = new AbortController();
  const closed = closing.signal;
  const silenceMs = SILENT_BEATS * heartbeatMs;
  const { reconnectMs = LIMITS.runtimeReturnMs + 2 * heartbeatMs, arrivalMs = 15_000, prepareMs = 5_000 } = options;
  const times = { reconnectMs, stopGraceMs, silenceMs };
  const ways: RemoteWays = { bus, calls, replicaId, log, answerMs: callCheckMs, busy: new Set() };
  const deliveries = createDeliveries({ directory: () => directory, calls, times, clock, closed });
  const { pending, arrived, seek, lost } = deliveries;
  const opened = deliveries.lineOpened;
  const directory = createDirectory({ registry, store, bus, ways, log, opened, replaced });
  const sets = openFunctionSets({ store, directory, limits, log, metrics });
  const choice = createChoice({ directory, ...sets, store, limits, clock, arrivalMs, prepareMs, closed });
  const late = createLateResults({ calls, within, bus, log });
  const announcer = createAnnouncer({ bus, replicaId });
  const graceMs = 2 * stopGraceMs;
  const holder = createHolder({
    bus,
    calls,
    within,
    replicaId,
    clock,
    graceMs,
    forgottenMs: 4 * callCheckMs,
    storing: late.has,
  });
  const quota = createKeyQuota(limits);
  const sockets = new Set<WebSocket>();
  const access = createAccessWatch({
    valid: { credential: options.validCredentials },
    everyMs: options.keyCheckMs ?? 1_000,
    log,
  });
  const notes = new Set<Promise<void>>();
  let leaving = false;
  let lifeUnsaid = false;

  const handleUpgrade = createUpgrade({
    authenticate: options.authenticate,
    accepts: () => !leaving,
    quota,
    metrics,
    log,
    accepted: (socket, transport, key) => {
      const { agentId } = key;
      sockets.add(socket);
      const held = access.hold({ kind: "credential", id: key.keyId }, () =>
        closeSocket(socket, LINK_CLOSE.keyRevoked, "the runtime key was revoked"),
      );
      socket.on("close", () => {
        sockets.delete(socket);
        held[Symbol.dispose]();
      });
      socket.on("error", (error) => log.debug("a runtime's socket failed", { agentId, error }));
      const events = { welcomed, frame, ended };
      const { join } = sets;
      const deps = { store, join, within, replicaId, limits, heartbeatMs, helloMs, log, metrics, events };
      receiveRuntime(socket, transport, key, deps).catch((error: unknown) => {
        log.error("a runtime could not be welcomed", { agentId, error });
        socket.terminate();
      });
    },
  });

  function welcomed(link: Link): void {
    if (leaving) link.send({ type: "goingAway" });
    const previous = registry.add(link);
    const { agentId, instanceId, manifestHash, manifest } = link.identity;
    log.info("runtime connected", { agentId, instanceId, manifestHash, functions: manifest.functions.length });
    if (previous) leave(previous);
    else metrics.runtimeConnected();
    holder.open(link);
    directory.linkOpened(link);
    announcer.tell(link, "opened");
    previous?.close(LINK_CLOSE.replaced, "this runtime opened a newer link");
  }

  /** The link is no longer its runtime's current one. */
  function leave(link: Link): void {
    holder.close(link);
    deliveries.linkClosed(link);
    link.left();
  }

  function replaced(link: Link): void {
    if (!registry.remove(link)) return;
    leave(link);
    metrics.runtimeDisconnected();
    const { agentId, instanceId } = link.identity;
    log.info("runtime connected to another replica", { agentId, instanceId });
    link.close(LINK_CLOSE.replaced, "this runtime opened a newer link");
  }

  function ended(link: Link, code: number): void {
    if (!registry.remove(link)) return;
    leave(link);
    metrics.runtimeDisconnected();
    const { agentId, instanceId, connectionId } = link.identity;
    log.info("runtime disconnected", { agentId, instanceId, code });
    announcer.tell(link, "closed");
    note(store.linkClosed(connectionId));
  }

  function frame(link: Link, frame: LinkFrame, sizeBytes: number): void {
    switch (frame.type) {
      case "result": {
        const sentAt = holder.ended(link, frame);
        if (!deliveries.result(link, frame, sentAt)) late.add(link, { ...frame, sentAt }, sizeBytes);
        return undefined;
      }
      case "progress":
        holder.progress(link, frame);
        return deliveries.progress(link, frame);
      case "callState":
        holder.state(link, frame);
        return deliveries.state(link, frame);
      case "prepared":
      case "hookResult":
        return link.answered(frame);
      case "draining":
        if (link.draining) return undefined;
        link.draining = true;
        deliveries.linkDraining(link);
        holder.drain(link);
        announcer.tell(link, "changed");
        return note(store.linkDraining(link.identity.connectionId));
    }
  }

  function note(write: Promise<void>): void {
    const noted = write
      .catch((error: unknown) => log.warn("a change of a link was not stored", { error }))
      .finally(() => notes.delete(noted));
    notes.add(noted);
  }

  async function sayAlive(): Promise<void> {
    const links = registry.all();
    lifeUnsaid = false;
    if (links.length === 0) return;
    await store.linksAlive(links.map(({ identity }) => identity.connectionId)).catch((error: unknown) => {
      lifeUnsaid = true;
      log.warn("signs of life were not stored", { links: links.length, error });
    });
  }

  function beat(): void {
    for (const link of registry.all()) link.tick();
    note(sayAlive());
  }

  function housekeeping(): void {
    announcer.tellLoads(registry.all());
    holder.tidy();
    quota.tidy();
    if (lifeUnsaid) note(sayAlive());
  }

  const running = new DisposableStack();
  running.use(access);
  const every = (ms: number, work: () => void): void => {
    running.adopt(setInterval(work, ms), clearInterval);
  };
  every(heartbeatMs, beat);
  every(HOUSEKEEPING_MS, housekeeping);
  running.use(hearHolders({ bus, replicaId, pending, arrived }));
  running.use(
    watchRemoteCalls({ everyMs: callCheckMs, bus, calls, directory, busy: ways.busy, lost, pending, seek, log }),
  );
  running.use(directory);
  running.use(late);

  return {
    ...choice,
    deliver: deliveries.deliver,
    recover: deliveries.recover,
    acknowledge({ agentId, instanceId, callId }: CallAddress) {
      registry.find(agentId, instanceId)?.sendUnhurried({ type: "resultAck", callId });
    },
    handleUpgrade,
    connectionCount: (agentId) => (agentId === undefined ? registry.size : registry.of(agentId).length),
    revoke(keyId) {
      for (const link of registry.all())
        if (link.identity.keyId === keyId) link.close(LINK_CLOSE.keyRevoked, "the runtime key was revoked");
    },
    goingAway() {
      leaving = true;
      for (const link of registry.all()) link.send({ type: "goingAway" });
    },
    async close() {
      leaving = true;
      running.dispose();
      closing.abort(new ServiceError("unavailable", "The control plane is stopping"));
      const gone = [...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      for (const link of registry.all()) link.close(LINK_CLOSE.goingAway, "the control plane is stopping");
      for (const socket of sockets) if (socket.readyState === socket.OPEN) socket.terminate();
      await Promise.all(gone);
      announcer.flush();
      await Promise.all([...notes, late.settled()]);
    },
  };
}
