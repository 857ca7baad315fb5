import { setTimeout as sleep } from "node:timers/promises";
import { connect, silentLog } from "@patchbay/functions";
import { test } from "vitest";
import { startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { printFigure } from "@patchbay/test-support/figures";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { startSystem } from "@patchbay/test-support/system";

const HEARTBEAT_MS = 250;
const DEFAULT_HEARTBEAT_MS = 5_000;
const ROUNDS = 4;

async function startProxied() {
  const system = await startSystem({ heartbeatMs: HEARTBEAT_MS });
  const proxy = await startChaosProxy(system.plane.port);
  const runtime = connect(fakeService(), {
    url: `http://127.0.0.1:${proxy.port}`,
    key: system.runtimeKey,
    log: silentLog,
    backoff: { firstMs: 10, baseMs: 10, maxMs: 20 },
  });
  await runtime.ready;
  return {
    proxy,
    runtime,
    joined: () => system.plane.connectedRuntimes(system.agentId) === 1,
    async [Symbol.asyncDispose]() {
      await runtime.stop({ drainMs: 0 });
      await proxy[Symbol.asyncDispose]();
      await system[Symbol.asyncDispose]();
    },
  };
}

test("each end notices by itself that the network drops everything without closing", async () => {
  await using proxied = await startProxied();
  const { proxy, runtime, joined } = proxied;
  const worst = { plane: 0, runtime: 0 };

  for (let round = 0; round < ROUNDS; round++) {
    // Each round starts at another time between two heartbeats.
    await sleep((HEARTBEAT_MS * round) / ROUNDS);
    const blockedAt = performance.now();
    proxy.refusing = true;
    proxy.hold("up", "down");
    const noticed = async (end: keyof typeof worst, gone: () => boolean): Promise<void> => {
      await until(gone, end);
      worst[end] = Math.max(worst[end], performance.now() - blockedAt);
    };
    await Promise.all([noticed("plane", () => !joined()), noticed("runtime", () => runtime.state !== "connected")]);
    proxy.refusing = false;
    await until(() => joined() && runtime.state === "connected", "the next connection");
  }

  const atDefault = (ms: number): number => Math.round(((ms / HEARTBEAT_MS) * DEFAULT_HEARTBEAT_MS) / 1_000);
  printFigure("half-open connection", {
    "heartbeats until the runtime notices": (worst.runtime / HEARTBEAT_MS).toFixed(1),
    "until the control plane notices": (worst.plane / HEARTBEAT_MS).toFixed(1),
    "s at the default heartbeat": `${atDefault(worst.runtime)} and ${atDefault(worst.plane)}`,
  });
});
