import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { Answer } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { echoed, startCluster, timesRun, type Cluster } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

async function start(...names: string[]) {
  cluster = await startCluster(names, WATCHFUL);
  return cluster.place();
}

async function startRunning(at?: number) {
  cluster = await startCluster(["x", "y", "z"], WATCHFUL);
  return cluster.placeRunning(at);
}

const MOVES = [
  ["from its run's replica to another", 0, 1],
  ["from another replica to its run's", 1, 0],
  ["between two other replicas", 1, 2],
] as const;

test.each(MOVES)("a runtime that moves %s during a call is queried there and answers", async (_, from, to) => {
  const { desk, gate, delivery } = await startRunning(from);
  const { replicas } = cluster;

  desk.move(replicas[to]!);
  await desk.at(replicas[to]!);
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test.each(MOVES)(
  "a runtime that opens a second connection %s is used over it, and the first is closed",
  async (_, from, to) => {
    const { x, desk, run, gate, delivery } = await startRunning(from);
    const { replicas } = cluster;

    desk.replace(replicas[to]!);
    await desk.at(replicas[to]!);
    await until(() => replicas[from]!.gateway.connectionCount() === 0, "the close of the first connection");
    gate.open();

    expect(await delivery).toEqual(echoed);
    expect(await cluster.callToEnd(x, run)).toMatchObject({ ending: { ok: true }, attempts: 1 });
    expect(desk.service.invoked).toHaveLength(2);
    expect(await cluster.store.runtimes.connections("agent-a")).toMatchObject([{ replicaId: replicas[to]!.name }]);
  },
);

test("a result is stored once when its runtime moves during the write", async () => {
  const { y, z, desk, deliver } = await start("x", "y", "z");
  const moved = Promise.withResolvers<void>();
  cluster.hub.loseAnswers();
  y.before("arrive", async () => {
    desk.move(z);
    await desk.at(z).finally(moved.resolve);
  });

  expect(await deliver()).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
  await moved.promise; // z may store the result before y sees the move
  await desk.connection.stop(); // every result is acknowledged
});

test("a call runs once when its runtime moves between claim and sending", async () => {
  const { x, y, z, desk, run } = await start("x", "y", "z");
  y.after("accept", async () => {
    desk.move(z);
    await desk.at(z);
  });

  expect(await cluster.callToEnd(x, run)).toMatchObject({ ending: { ok: true } });
  expect(desk.service.invoked).toHaveLength(1);
});

test("a runtime that moves constantly runs each of its calls once", async () => {
  cluster = await startCluster(["x", "y", "z"], WATCHFUL);
  const answer: Answer = async ({ callId }) => {
    await new Promise(setImmediate);
    return { ok: true, value: callId };
  };
  const { x, desk, run } = await cluster.place({ answer }, 0);
  let ended = 0;
  const calls = Array.from({ length: 60 }, () => cluster.callToEnd(x, run).finally(() => ended++));
  // With moves by the clock, a slow machine may complete neither a handshake nor a call between two of them.
  for (let at = 1; ended < calls.length; at++) {
    desk.move(cluster.replicas[at % 3]!);
    await desk.at(cluster.replicas[at % 3]!);
    const before = ended;
    await wait(60);
    await until(() => ended > before || ended === calls.length, "the end of a call");
  }
  const done = await Promise.all(calls);

  expect(done.map(({ ending }) => ending)).toEqual(done.map(({ callId }) => ({ ok: true, value: callId })));
  expect([...timesRun([desk]).values()].every((times) => times === 1)).toBe(true);
});

test("results that arrive while the store is unavailable are stored when it is available again", async () => {
  const { y, desk, deliver } = await start("x", "y");
  cluster.hub.loseAnswers();
  y.before("arrive", () => {
    y.storeDown = true;
    setTimeout(() => (y.storeDown = false), 300);
  });

  expect(await deliver()).toEqual(echoed);
  await desk.connection.stop();
});

test("a replica that is disconnected from the bus serves its own runtimes, and calls to others are undelivered", async () => {
  const { x, run } = await start("x", "y");
  await until(async () => (await x.gateway.assign("agent-a", cluster.hash, "echo", { signal })) !== undefined, "it");
  cluster.hub.set("x", "cut");
  const own = await cluster.connectRuntime(x);

  expect(await cluster.callToEnd(x, run)).toMatchObject({ ending: { ok: true }, attempts: 1 });
  expect(own.service.invoked).toHaveLength(1);

  own.die();
  await until(() => x.gateway.connectionCount() === 0, "the loss");
  const far = (await x.gateway.assign("agent-a", cluster.hash, "echo", { signal }))!;
  expect(await x.gateway.deliver(await cluster.intend(run, far), { signal })).toEqual({ kind: "undelivered" });

  cluster.hub.set("x", "on");
  expect(await cluster.callToEnd(x, run)).toMatchObject({ ending: { ok: true } });
});

test("a call that runs when the bus fails ends with the outcome in the store", async () => {
  const { desk, gate, delivery } = await startRunning();

  cluster.hub.set("x", "cut");
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test("a call whose host falls silent is found at the runtime's next replica", async () => {
  const { y, z, desk, gate, delivery } = await startRunning();

  cluster.hub.set("y", "frozen");
  y.storeDown = true;
  desk.move(z);
  await desk.at(z);
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test("a call offered to a silent host is undelivered, and the host does not take it when it resumes", async () => {
  const { x, desk, deliver } = await start("x", "y");
  await x.gateway.connected("agent-a");
  const resumed = Promise.withResolvers<void>();
  cluster.hub.fate = ({ label }) => (label === "request call" ? { until: resumed.promise } : "pass");
  expect(await deliver()).toEqual({ kind: "undelivered" });
  expect(cluster.hub.carried).not.toContain("reply call 1");
  resumed.resolve();
  await until(() => cluster.hub.carried.includes("reply call 1"), "the late answer");
  expect(desk.service.invoked).toEqual([]);
});
