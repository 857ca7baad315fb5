import { silentLog } from "@patchbay/functions";
import { fakeService } from "@patchbay/test-support/fake-service";
import { SimulatedSocket } from "@patchbay/test-support/network";
import { virtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { connectOver } from "../../src/connection/connect.ts";

/** The pauses between the connections that a runtime tries to open within `ms`, all of which are refused. */
async function pausesWithin(ms: number, randomFraction: number): Promise<number[]> {
  using time = virtualTime();
  const { world } = time;
  world.random.fraction = () => randomFraction;
  const tries: number[] = [];
  const openSocket = (): WebSocket => {
    tries.push(time.now);
    const socket = new SimulatedSocket(world, world.process);
    world.after(0, world.process, () => {
      socket.emit("error", new Error("connect ECONNREFUSED"));
      socket.terminate();
    });
    return socket as unknown as WebSocket;
  };
  connectOver(openSocket, fakeService(), { url: "ws://simulated", key: "key-of-a", log: silentLog });
  await time.advance(ms);
  return tries.slice(1).map((at, i) => at - tries[i]!);
}

test("a runtime without a control plane tries again at the times of its back-off", async () => {
  const first = [100, 200, 400, 800, 1_600];
  const soon = Array.from({ length: 119 }, () => 2_500);
  // After five minutes.
  const later = Array.from({ length: 6 }, () => 10_000);

  expect(await pausesWithin(365_000, 1)).toEqual([...first, ...soon, ...later]);
});
