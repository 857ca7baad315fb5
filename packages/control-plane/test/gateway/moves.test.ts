import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { afterEach, expect, test } from "vitest";
import { gated } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { startCluster, timesRun, type Cluster, type Replica } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

const echoed = { kind: "outcome", outcome: { ok: true, value: { text: "hello" } } };

async function start(names: string[], options?: Parameters<typeof startCluster>[1]): Promise<Replica[]> {
  cluster = await startCluster(names, options);
  return cluster.replicas;
}

test.each([
  ["from its run's replica to another", 0, 1],
  ["from another replica to its run's", 1, 0],
  ["between two other replicas", 1, 2],
])("a runtime that moves %s in mid-call is asked there and answers", async (_, from, to) => {
  const [x, y, z] = await start(["x", "y", "z"]);
  const replicas = [x!, y!, z!];
  const gate = gated();
  const desk = await cluster.connectRuntime(replicas[from]!, { answer: gate.answer });
  const run = await cluster.startRun(x!);
  const delivery = x!.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the call");

  desk.move(replicas[to]!);
  await desk.at(replicas[to]!);
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test.each([
  ["from its run's replica to another", 0, 1],
  ["from another replica to its run's", 1, 0],
  ["between two other replicas", 1, 2],
])("a runtime that opens a second link %s is reached over that one, and the first is closed", async (_, from, to) => {
  const [x, y, z] = await start(["x", "y", "z"]);
  const replicas = [x!, y!, z!];
  const gate = gated();
  const desk = await cluster.connectRuntime(replicas[from]!, { answer: gate.answer });
  const run = await cluster.startRun(x!);
  const delivery = x!.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the call");

  desk.replace(replicas[to]!);
  await desk.at(replicas[to]!);
  await until(() => replicas[from]!.gateway.connectionCount() === 0, "the first link's end");
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(await cluster.callToEnd(x!, run)).toMatchObject({ ending: { ok: true }, attempts: 1 });
  expect(desk.service.invoked).toHaveLength(2);
  expect(await cluster.store.runtimes.links("agent-a")).toMatchObject([{ replicaId: replicas[to]!.name }]);
});

test("a runtime that moves while its result is being stored has it stored once", async () => {
  const [x, y, z] = await start(["x", "y", "z"]);
  const desk = await cluster.connectRuntime(y!);
  const run = await cluster.startRun(x!);
  const order = await cluster.intend(run, desk.instanceId);
  y!.before("arrive", async () => {
    desk.move(z!);
    await desk.at(z!);
  });

  expect(await x!.gateway.deliver(order, { signal })).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
  await desk.connection.stop(); // every result is acknowledged
});

test("a runtime that moves between the taking of its call and the sending of it runs it once", async () => {
  const [x, y, z] = await start(["x", "y", "z"]);
  const desk = await cluster.connectRuntime(y!);
  const run = await cluster.startRun(x!);
  y!.after("accept", async () => {
    desk.move(z!);
    await desk.at(z!);
  });

  expect(await cluster.callToEnd(x!, run)).toMatchObject({ ending: { ok: true } });
  expect(desk.service.invoked).toHaveLength(1);
});

test("a runtime that moves all the time during its calls runs each once", async () => {
  const replicas = await start(["x", "y", "z"]);
  const [x] = replicas;
  const desk = await cluster.connectRuntime(x!, {
    async answer({ callId }) {
      await new Promise(setImmediate);
      return { ok: true, value: callId };
    },
  });
  const run = await cluster.startRun(x!);
  let at = 0;
  const mover = setInterval(() => desk.move(replicas[++at % 3]!), 60);

  const done = await Promise.all(Array.from({ length: 60 }, () => cluster.callToEnd(x!, run)));
  clearInterval(mover);

  expect(done.map(({ ending }) => ending)).toEqual(done.map(({ callId }) => ({ ok: true, value: callId })));
  expect([...timesRun([desk]).values()].every((times) => times === 1)).toBe(true);
}, 30_000);

test("results that come while the store is out of reach are stored when it is back", async () => {
  const [x, y] = await start(["x", "y"]);
  const desk = await cluster.connectRuntime(y!);
  const run = await cluster.startRun(x!);
  y!.before("arrive", () => {
    y!.storeDown = true;
    setTimeout(() => (y!.storeDown = false), 300);
  });

  expect(await x!.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal })).toEqual(echoed);
  await desk.connection.stop();
});

test("a replica cut off from the bus serves its own runtimes, and says that others did not take a call", async () => {
  const [x, y] = await start(["x", "y"]);
  await cluster.connectRuntime(y!);
  const run = await cluster.startRun(x!);
  await until(async () => (await x!.gateway.assign("agent-a", cluster.hash, "echo", { signal })) !== undefined, "it");
  cluster.hub.set("x", "cut");
  const own = await cluster.connectRuntime(x!);

  expect(await cluster.callToEnd(x!, run)).toMatchObject({ ending: { ok: true }, attempts: 1 });
  expect(own.service.invoked).toHaveLength(1);

  own.die();
  await until(() => x!.gateway.connectionCount() === 0, "the loss");
  const far = (await x!.gateway.assign("agent-a", cluster.hash, "echo", { signal }))!;
  expect(await x!.gateway.deliver(await cluster.intend(run, far), { signal })).toEqual({ kind: "undelivered" });

  cluster.hub.set("x", "on");
  expect(await cluster.callToEnd(x!, run)).toMatchObject({ ending: { ok: true } });
});

test("a call under way when the bus fails ends by what the store says", async () => {
  const [x, y] = await start(["x", "y"]);
  const gate = gated();
  const desk = await cluster.connectRuntime(y!, { answer: gate.answer });
  const run = await cluster.startRun(x!);
  const delivery = x!.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the call");

  cluster.hub.set("x", "cut");
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test("a call whose holder falls silent is found at the runtime's next replica", async () => {
  const [x, y, z] = await start(["x", "y", "z"]);
  const gate = gated();
  const desk = await cluster.connectRuntime(y!, { answer: gate.answer });
  const run = await cluster.startRun(x!);
  const delivery = x!.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the call");

  cluster.hub.set("y", "frozen");
  y!.storeDown = true;
  desk.move(z!);
  await desk.at(z!);
  gate.open();

  expect(await delivery).toEqual(echoed);
  expect(desk.service.invoked).toHaveLength(1);
});

test("a call offered to a silent holder is undelivered in time, and not taken when the holder wakes", async () => {
  const [x, y] = await start(["x", "y"]);
  const desk = await cluster.connectRuntime(y!);
  const run = await cluster.startRun(x!);
  await x!.gateway.connected("agent-a");
  cluster.hub.fate = ({ label }) => (label === "request call" ? { delayMs: 700 } : "pass");
  expect(await x!.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal })).toEqual({
    kind: "undelivered",
  });
  expect(cluster.hub.carried).not.toContain("reply call 1");
  await until(() => cluster.hub.carried.includes("reply call 1"), "the late answer");
  expect(desk.service.invoked).toEqual([]);
});

test("runtimes that connect together are announced in few messages", async () => {
  const limits = { ...DEFAULT_LIMITS, connectionsPerKey: 200 };
  const [x] = await start(["x", "y"], { limits });
  const count = 200;
  await Promise.all(Array.from({ length: count }, () => cluster.connectRuntime(x!)));

  await until(async () => (await cluster.store.runtimes.links("agent-a")).length === count, "all of them");
  const announced = cluster.hub.carried.filter((message) => message.startsWith("publish runtimes")).length;

  expect(announced).toBeLessThan(count / 2);
});
