import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { LINK_CLOSE, type RuntimeFrame } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { Clock } from "../ports/clock.ts";
import type { CallAddress, FunctionGateway } from "../ports/function-gateway.ts";
import type { Log } from "../ports/log.ts";
import { silentMetrics, type Metrics } from "../ports/metrics.ts";
import { ServiceError } from "../ports/service-error.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import { createChoice } from "./choice.ts";
import { createDeliveries } from "./delivery.ts";
import { parseRuntimeFrame } from "./frames.ts";
import { greet } from "./greeting.ts";
import { createHeldOutcomes } from "./held-outcomes.ts";
import { watchKeys } from "./key-watch.ts";
import { Link } from "./link.ts";
import { createRegistry } from "./registry.ts";
import { type Authenticate, createUpgrade, type RuntimeKey } from "./upgrade.ts";

const BAD_FRAMES = 10;

export interface FunctionGatewayOptions {
  store: RuntimeStore;
  authenticate: Authenticate;
  replicaId: string;
  clock: Clock;
  log: Log;
  metrics?: Pick<Metrics, "runtimeConnected" | "runtimeDisconnected">;
  /** Pings each way; three silent ones end a link. Default 10 s. */
  heartbeatMs?: number;
  /** How long a runtime has for its first frame. Default 5 s. */
  helloMs?: number;
  /** How long a link lost in mid-call is waited for. Default 10 s. */
  reconnectMs?: number;
  /** How long a handler that was told to stop may still answer. Default 2 s. */
  stopGraceMs?: number;
  /** How long a runtime seen a moment ago is waited for. Default 5 s. */
  arrivalMs?: number;
  /** How often each link's key is looked up again. Default 2 s. */
  keyCheckMs?: number;
}

/** The gateway with what its process needs of it beside the port. */
export interface RuntimeGateway extends FunctionGateway {
  /** Takes `GET /functions/connect` from the HTTP server's `upgrade` event. Never throws. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Runtimes connected now, of one agent or of all. */
  connectionCount(agentId?: string): number;
  /** Closes the links of a revoked key now; a revocation elsewhere is noticed within `keyCheckMs`. */
  revoke(keyId: string): void;
  /** Refuses new links and asks runtimes to connect elsewhere; open links serve on. */
  goingAway(): void;
  /** Closes every link. Calls that are still waited for reject with `unavailable`. */
  close(): Promise<void>;
}

export function createFunctionGateway(options: FunctionGatewayOptions): RuntimeGateway {
  const { store, authenticate, clock, metrics = silentMetrics, heartbeatMs = 10_000, helloMs = 5_000 } = options;
  const log = options.log.child({ replicaId: options.replicaId });
  const registry = createRegistry();
  const held = createHeldOutcomes(() => clock.now());
  const closing = new AbortController();
  const times = { reconnectMs: options.reconnectMs ?? 10_000, stopGraceMs: options.stopGraceMs ?? 2_000 };
  const deliveries = createDeliveries({ registry, held, times, now: () => clock.now(), closed: closing.signal });
  const choice = createChoice({
    registry,
    store,
    clock,
    arrivalMs: options.arrivalMs ?? 5_000,
    closed: closing.signal,
  });
  const sockets = new Set<WebSocket>();
  const touches = new Set<Promise<void>>();
  let leaving = false;

  const handleUpgrade = createUpgrade({
    authenticate,
    accepts: () => !leaving,
    log,
    accepted: (socket, transport, key) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", (error) => log.debug("a runtime's socket failed", { agentId: key.agentId, error }));
      welcome(socket, transport, key).catch((error: unknown) => {
        log.error("a runtime could not be welcomed", { agentId: key.agentId, error });
        socket.terminate();
      });
    },
  });

  async function welcome(socket: WebSocket, transport: Duplex, key: RuntimeKey & { secret: string }): Promise<void> {
    const identity = await greet(socket, key, { store, helloMs, log });
    if (!identity) return;
    const link = new Link(identity, socket, transport);
    listen(link, socket);
    const { connectionId, agentId, instanceId, manifestHash } = identity;
    link.send({ type: "welcome", connectionId, agentId, heartbeatMs });
    if (leaving) link.send({ type: "goingAway" });
    const previous = registry.add(link);
    log.info("runtime connected", { agentId, instanceId, manifestHash, functions: identity.manifest.functions.length });
    if (!previous) metrics.runtimeConnected();
    else {
      deliveries.linkClosed(previous);
      choice.linkClosed(previous);
      previous.close(LINK_CLOSE.replaced, "this runtime opened a newer link");
    }
    deliveries.linkOpened(link);
  }

  /** Results are read from a replaced link until it is closed: they were on their way. */
  function listen(link: Link, socket: WebSocket): void {
    const { agentId, instanceId } = link.identity;
    let badFrames = 0;
    socket.on("message", (data, isBinary) => {
      const bytes = data as Buffer;
      const parsed = parseRuntimeFrame(isBinary ? "" : bytes.toString());
      if (parsed.ok && parsed.frame.type !== "hello") return receive(link, parsed.frame, bytes.length);
      if (badFrames++ >= BAD_FRAMES) return undefined;
      log.warn("bad frame", { agentId, instanceId, fault: parsed.ok ? "a second hello" : parsed.message });
      if (badFrames === BAD_FRAMES) link.close(LINK_CLOSE.badFrame, "too many malformed frames");
      return undefined;
    });
    socket.on("close", (code) => {
      if (!registry.remove(link)) return;
      deliveries.linkClosed(link);
      choice.linkClosed(link);
      metrics.runtimeDisconnected();
      log.info("runtime disconnected", { agentId, instanceId, code });
      touch(link, false);
    });
  }

  function receive(link: Link, frame: Exclude<RuntimeFrame, { type: "hello" }>, sizeBytes: number): void {
    switch (frame.type) {
      case "result":
        return deliveries.result(link, frame, sizeBytes);
      case "progress":
        return deliveries.progress(link, frame);
      case "callState":
        return deliveries.state(link, frame);
      case "prepared":
        return choice.prepared(link, frame);
      case "draining":
        link.draining = true;
        return deliveries.linkDraining(link);
    }
  }

  function touch(link: Link, connected: boolean): void {
    const { agentId, instanceId, manifestHash } = link.identity;
    const touch = store
      .touchRuntime({ agentId, instanceId, manifestHash, connected })
      .catch((error: unknown) => log.warn("a runtime's sign of life was not stored", { agentId, error }))
      .finally(() => touches.delete(touch));
    touches.add(touch);
  }

  function acknowledge(call: CallAddress): void {
    held.forget(call);
    registry.find(call.agentId, call.instanceId)?.send({ type: "resultAck", callId: call.callId });
  }

  function beat(): void {
    for (const link of registry.all()) {
      link.tick();
      touch(link, true);
    }
    for (const call of held.expire()) {
      log.info("dropped a result nobody asked for", { agentId: call.agentId, callId: call.callId });
      acknowledge(call);
    }
  }

  const heart = setInterval(beat, heartbeatMs);
  const keyWatch = watchKeys({ registry, authenticate, everyMs: options.keyCheckMs ?? 2_000, log });

  return {
    session: choice.session,
    prepare: choice.prepare,
    assign: choice.assign,
    deliver: deliveries.deliver,
    recover: deliveries.recover,
    acknowledge,
    connected: (agentId) => registry.of(agentId).some((link) => link.open),
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
      clearInterval(heart);
      keyWatch[Symbol.dispose]();
      closing.abort(new ServiceError("unavailable", "The control plane is stopping"));
      const gone = [...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      for (const link of registry.all()) link.close(LINK_CLOSE.goingAway, "the control plane is stopping");
      for (const socket of sockets) if (socket.readyState === socket.OPEN) socket.terminate();
      await Promise.all(gone);
      await Promise.all(touches);
    },
  };
}
