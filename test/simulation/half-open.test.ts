import { silentLog } from "@patchbay/functions";
import { connectOver } from "@patchbay/runtime/connection/connect";
import { fakeService } from "@patchbay/test-support/fake-service";
import { createGateway, KEYS } from "@patchbay/test-support/gateway-server";
import { createNetwork } from "@patchbay/test-support/network";
import { virtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";

/** A control plane whose heartbeats are every 5 s from the start, and a runtime that connects after 2 s. */
async function connected() {
  const time = virtualTime();
  const { world } = time;
  const { gateway } = await time.during(createGateway());
  const state = { refuses: false };
  const network = createNetwork(world, () =>
    state.refuses
      ? undefined
      : { process: world.machine, accept: (...link) => gateway.accept(...link, KEYS["key-of-a"]!) },
  );
  await time.advance(2_000 - time.now);
  const options = { url: "ws://simulated", key: "key-of-a", log: silentLog };
  const runtime = connectOver(network.openSocket, fakeService(), options);
  await time.during(runtime.ready);
  const welcomedAt = time.now;
  return { time, gateway, network, runtime, state, welcomedAt, [Symbol.dispose]: () => time[Symbol.dispose]() };
}

test.each([
  { when: "before a heartbeat of the control plane", silentMs: 9_900, planeMs: 20_000, runtimeBeats: 4 },
  { when: "after a heartbeat of the control plane", silentMs: 10_100, planeMs: 25_000, runtimeBeats: 4 },
  { when: "after a heartbeat of the runtime", silentMs: 12_100, planeMs: 25_000, runtimeBeats: 5 },
])("each end closes at two heartbeats without a byte, on a network silent $when", async (row) => {
  using scene = await connected();
  const { time, gateway, network, runtime, state, welcomedAt } = scene;
  await time.advance(row.silentMs - time.now);
  state.refuses = true;
  network.silence();

  const closedAt: { plane?: number; runtime?: number } = {};
  await time.until(() => {
    if (gateway.connectionCount() === 0) closedAt.plane ??= time.now;
    if (runtime.state !== "connected") closedAt.runtime ??= time.now;
    return closedAt.plane !== undefined && closedAt.runtime !== undefined;
  });

  expect(closedAt).toEqual({ plane: row.planeMs, runtime: welcomedAt + row.runtimeBeats * 5_000 });
});

test("the late close of a half-open connection does not affect the one that replaced it", async () => {
  using scene = await connected();
  const { time, gateway, network, runtime } = scene;
  await time.advance(10_100 - time.now);
  network.silence();
  await time.until(() => runtime.state !== "connected");
  await time.until(() => runtime.state === "connected", 1_000);

  // The control plane closes the old connection meanwhile.
  const wasLost = () => gateway.connectionCount() !== 1 || runtime.state !== "connected";
  await expect(time.until(wasLost, 60_000)).rejects.toThrow("Not done within 60000 ms");
});
