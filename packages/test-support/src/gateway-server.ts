import { sleep, wallMs } from "@patchbay/kit/time";
import { DEFAULT_LIMITS, type OperatorLimits } from "@patchbay/protocol";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { createFunctionGateway, type FunctionGatewayOptions, type RuntimeGateway } from "@patchbay/gateway/gateway";
import type { RuntimeKey } from "@patchbay/gateway/handshake/runtime-keys";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { CallOrder } from "@patchbay/engine/ports/function-gateway";
import { silentLog } from "@patchbay/engine/ports/log";
import type { LastSeen } from "@patchbay/engine/ports/service-times";
import type { ConnectedRuntime, Store } from "@patchbay/engine/ports/store/stores";
import { openStore } from "@patchbay/store/open";

export const systemClock: Clock = { now: wallMs, sleep };

export const lastSeenAgo = (agoMs: number | undefined, startedAgoMs?: number): LastSeen | undefined =>
  agoMs === undefined
    ? undefined
    : { at: wallMs() - agoMs, agoMs, ...(startedAgoMs !== undefined && { startedAgoMs }) };

/** A store in memory that records the connections that gateways open and close. */
export async function recordingStore() {
  const store = await openStore("sqlite::memory:");
  const state = {
    ...store.runtimes,
    all: store,
    opened: [] as ConnectedRuntime[],
    closed: [] as string[],
    /** The time since the last runtime was seen, as the store reports it. */
    agoMs: undefined as number | undefined,
    /** The time since a start, before which it was seen. */
    startedAgoMs: undefined as number | undefined,
    async connectionOpened(runtime: ConnectedRuntime) {
      await store.runtimes.connectionOpened(runtime);
      state.opened.push(runtime);
    },
    async connectionClosed(connectionId: string) {
      await store.runtimes.connectionClosed(connectionId);
      state.closed.push(connectionId);
    },
    lastSeen: async (): Promise<LastSeen | undefined> => lastSeenAgo(state.agoMs, state.startedAgoMs),
  };
  return state;
}

/** Adds the organisation and the agents that the keys of these tests belong to. */
export async function addAgents({ accounts }: Store): Promise<void> {
  await accounts.createOrg({ orgId: "org", name: "Test", tier: "sandbox" });
  for (const agentId of ["agent-a", "agent-b"])
    await accounts.createAgent({ agentId, orgId: "org", name: agentId, instructions: "" });
}

/** The runtime keys of these tests, with their agents. */
export const KEYS: Record<string, RuntimeKey> = {
  "key-of-a": { keyId: "k1", agentId: "agent-a", orgId: "org" },
  "other-key-of-a": { keyId: "k2", agentId: "agent-a", orgId: "org" },
  "key-of-b": { keyId: "k3", agentId: "agent-b", orgId: "org" },
};

export interface GatewayServer extends AsyncDisposable {
  readonly gateway: RuntimeGateway;
  readonly port: number;
  /** Resets every connection and accepts no further ones. */
  cut(): void;
  readonly store: Awaited<ReturnType<typeof recordingStore>>;
  /** Valid keys. Deleting one revokes it as another process does. */
  readonly keys: Map<string, RuntimeKey>;
}

export type GatewayOptions = Omit<Partial<FunctionGatewayOptions>, "limits"> & { limits?: Partial<OperatorLimits> };

/** A real gateway without a server, with the keys of these tests. */
export async function createGateway(options: GatewayOptions = {}) {
  const store = await recordingStore();
  await addAgents(store.all);
  const keys = new Map(Object.entries(KEYS));
  const gateway = createFunctionGateway({
    store,
    calls: store.all.calls,
    shadows: store.all.shadows,
    within: (_orgId, work) => work(),
    bus: createMemoryBus(),
    authenticate: async (secret) => keys.get(secret),
    validCredentials: async () => new Set([...keys.values()].map(({ keyId }) => keyId)),
    replicaId: "replica-1",
    clock: systemClock,
    log: silentLog,
    ...options,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
  });
  return { gateway, store, keys };
}

/** A real gateway behind a real HTTP server on loopback. */
export async function startGateway(options: GatewayOptions & { port?: number } = {}): Promise<GatewayServer> {
  const { gateway, store, keys } = await createGateway(options);
  const server = createServer((_, response) => response.end());
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.on("upgrade", gateway.handleUpgrade);
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    gateway,
    store,
    keys,
    port: (server.address() as AddressInfo).port,
    cut() {
      server.close();
      for (const socket of open) socket.resetAndDestroy();
    },
    async [Symbol.asyncDispose]() {
      await gateway.close();
      if (server.listening) server.close();
      server.closeAllConnections();
      while (open.size > 0) await once([...open][0]!, "close");
      await store.all.close();
    },
  };
}

let orders = 0;

export function orderFor(instanceId: string, change: Partial<CallOrder> = {}): CallOrder {
  return {
    callId: `call-${++orders}`,
    attempt: 1,
    instanceId,
    agentId: "agent-a",
    functionName: "echo",
    arguments: { text: "hello" },
    context: {},
    threadId: "thread",
    runId: "run",
    fence: 1,
    timeoutMs: 5_000,
    ...change,
  };
}
