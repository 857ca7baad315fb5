import { silentLog } from "@patchbay/functions";
import type { RuntimeFrame } from "@patchbay/protocol";
import { connectOver } from "@patchbay/runtime/connection/connect";
import { fakeService, gated } from "@patchbay/test-support/fake-service";
import { createNetwork } from "@patchbay/test-support/network";
import { virtualTime } from "@patchbay/test-support/virtual-time";
import { Process } from "@patchbay/test-support/world";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";

const HEARTBEAT_MS = 5_000;

/** A runtime with one slot, and the control plane's end of its connection. */
async function connected() {
  const time = virtualTime();
  const { world } = time;
  const frames: RuntimeFrame[] = [];
  const owner = new Process("runtime");
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  let plane: WebSocket | undefined;
  const network = createNetwork(world, () => ({
    process: world.machine,
    accept(socket) {
      plane = socket;
      socket.on("message", (data: Buffer) => frames.push(JSON.parse(data.toString()) as RuntimeFrame));
    },
  }));
  const options = { url: "ws://simulated", key: "key", concurrency: 1, log: silentLog };
  world.in(owner, () => connectOver(network.openSocket, service, options));
  await time.until(() => frames.some(({ type }) => type === "hello"));
  const send = (frame: object): void => world.in(world.machine, () => plane!.send(JSON.stringify(frame)));
  send({ type: "welcome", connectionId: "c", agentId: "a", heartbeatMs: HEARTBEAT_MS });
  await time.advance(100);
  return {
    time,
    network,
    invoked: service.invoked,
    open: gate.open,
    call(callId: string): void {
      const what = { function: "echo", arguments: {}, context: {}, threadId: "t", runId: "r", timeoutMs: 60_000 };
      send({ type: "call", callId, attempt: 1, ...what });
    },
    suspend: (ms: number) => owner.freeze(time.now + ms),
    states: () => frames.flatMap((one) => (one.type === "callState" ? [`${one.callId} ${one.state}`] : [])),
    [Symbol.dispose]: () => time[Symbol.dispose](),
  };
}

test.each([
  { ms: 2 * HEARTBEAT_MS, runs: ["one"], states: [] },
  { ms: 2 * HEARTBEAT_MS + 1_000, runs: [], states: ["one unseen"] },
])("a call that reaches a runtime suspended for $ms ms: runs $runs", async ({ ms, runs, states }) => {
  using scene = await connected();
  // The time since the last heartbeat counts.
  await scene.time.advance(HEARTBEAT_MS - 50);
  scene.suspend(ms);
  scene.call("one");
  await scene.time.advance(ms + 500);

  expect(scene.invoked.map(({ callId }) => callId)).toEqual(runs);
  expect(scene.states()).toEqual(states);
});

test("after a suspension, new calls run, and calls that waited for a slot do not", async () => {
  using scene = await connected();
  scene.call("one");
  scene.call("two");
  await scene.time.advance(100);
  scene.suspend(3 * HEARTBEAT_MS);
  await scene.time.advance(3 * HEARTBEAT_MS + 500);
  scene.open();
  scene.call("three");
  await scene.time.advance(500);

  expect(scene.invoked.map(({ callId }) => callId)).toEqual(["one", "three"]);
  expect(scene.states()).toEqual(["two unseen"]);
});

test("a call that waits for a slot when its connection ends does not run", async () => {
  using scene = await connected();
  scene.call("one");
  scene.call("two");
  await scene.time.advance(100);
  scene.network.reset();
  await scene.time.advance(100);
  scene.open();
  await scene.time.advance(500);

  expect(scene.invoked.map(({ callId }) => callId)).toEqual(["one"]);
});
