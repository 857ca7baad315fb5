import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createFunctionGateway,
  type FunctionGatewayOptions,
  type RuntimeGateway,
} from "../../packages/control-plane/src/gateway/gateway.ts";
import type { Clock } from "../../packages/control-plane/src/ports/clock.ts";
import type { CallOrder } from "../../packages/control-plane/src/ports/function-gateway.ts";
import { silentLog } from "../../packages/control-plane/src/ports/log.ts";
import type { RuntimeStore } from "../../packages/control-plane/src/ports/stores.ts";

export const systemClock: Clock = { now: () => Date.now(), sleep: (ms, options) => sleep(ms, undefined, options) };

/** What runtimes told of themselves, in memory; `agoMs` stands in for the time since the last of them was seen. */
export function memoryRuntimeStore() {
  const manifests = new Map<string, unknown>();
  const touched: Parameters<RuntimeStore["touchRuntime"]>[0][] = [];
  const store: RuntimeStore = {
    async saveManifest(agentId, manifestHash, manifest) {
      manifests.set(`${agentId}/${manifestHash}`, manifest);
    },
    getManifest: async () => undefined,
    async touchRuntime(runtime) {
      touched.push(runtime);
    },
    lastSeenAgoMs: async () => state.agoMs,
  };
  const state = { ...store, manifests, touched, agoMs: undefined as number | undefined };
  return state;
}

/** Runtime keys of these tests, and their agents. */
export const KEYS: Record<string, { keyId: string; agentId: string; orgId: string }> = {
  "key-of-a": { keyId: "k1", agentId: "agent-a", orgId: "org" },
  "other-key-of-a": { keyId: "k2", agentId: "agent-a", orgId: "org" },
  "key-of-b": { keyId: "k3", agentId: "agent-b", orgId: "org" },
};

export interface GatewayServer extends AsyncDisposable {
  readonly gateway: RuntimeGateway;
  readonly port: number;
  readonly store: ReturnType<typeof memoryRuntimeStore>;
  /** Keys that hold; taking one out revokes it as another process would. */
  readonly keys: Map<string, { keyId: string; agentId: string; orgId: string }>;
}

/** A real gateway behind a real HTTP server on loopback. */
export async function startGateway(
  options: Partial<FunctionGatewayOptions> & { port?: number } = {},
): Promise<GatewayServer> {
  const store = memoryRuntimeStore();
  const keys = new Map(Object.entries(KEYS));
  const gateway = createFunctionGateway({
    store,
    authenticate: async (secret) => keys.get(secret),
    replicaId: "replica-1",
    clock: systemClock,
    log: silentLog,
    ...options,
  });
  const server = createServer((_, response) => response.end());
  server.on("upgrade", gateway.handleUpgrade);
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    gateway,
    store,
    keys,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      await gateway.close();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
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
    timeoutMs: 5_000,
    ...change,
  };
}
