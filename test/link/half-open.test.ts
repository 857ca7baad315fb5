import { setTimeout as sleep } from "node:timers/promises";
import { connect, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { startChaosProxy } from "../support/chaos-proxy.ts";
import { printFigure } from "../support/figure.ts";
import { handService } from "../support/hand-service.ts";
import { until } from "../support/inbox.ts";
import { startSystem } from "../support/system.ts";

const HEARTBEAT_MS = 250;
const DEFAULT_HEARTBEAT_MS = 5_000;
const ROUNDS = 4;

async function startApart() {
  const system = await startSystem({ heartbeatMs: HEARTBEAT_MS });
  const proxy = await startChaosProxy(system.plane.port);
  const runtime = connect(handService(), {
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

test("a network that swallows everything without closing is noticed by each end for itself", async () => {
  await using apart = await startApart();
  const { proxy, runtime, joined } = apart;
  const worst = { plane: 0, runtime: 0 };

  for (let round = 0; round < ROUNDS; round++) {
    // At another moment between two heartbeats each time.
    await sleep((HEARTBEAT_MS * round) / ROUNDS);
    const heldAt = performance.now();
    proxy.refusing = true;
    proxy.hold("up", "down");
    const noticed = async (end: keyof typeof worst, gone: () => boolean): Promise<void> => {
      await until(gone, end);
      worst[end] = Math.max(worst[end], performance.now() - heldAt);
    };
    await Promise.all([noticed("plane", () => !joined()), noticed("runtime", () => runtime.state !== "connected")]);
    proxy.refusing = false;
    await until(() => joined() && runtime.state === "connected", "the next link");
  }

  const atDefault = (ms: number): number => Math.round(((ms / HEARTBEAT_MS) * DEFAULT_HEARTBEAT_MS) / 1_000);
  printFigure("15 half-open link", {
    "heartbeats until the runtime notices": (worst.runtime / HEARTBEAT_MS).toFixed(1),
    "until the control plane notices": (worst.plane / HEARTBEAT_MS).toFixed(1),
    "s at the default heartbeat": `${atDefault(worst.runtime)} and ${atDefault(worst.plane)}`,
  });
});

test("the late end of a half-open link does not drop the link that took its place", async () => {
  await using apart = await startApart();
  const { proxy, runtime, joined } = apart;

  const before = proxy.accepted;
  proxy.hold("up", "down");
  await until(() => proxy.accepted > before && runtime.state === "connected" && joined(), "a new link");
  // The control plane has given up the old one for certain by then, and the proxy tells nobody of it.
  const endsAt = performance.now() + 6 * HEARTBEAT_MS;
  while (performance.now() < endsAt) {
    expect(joined()).toBe(true);
    await sleep(10);
  }
});
