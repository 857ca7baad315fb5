import { afterEach, expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { startCluster, type Cluster, type Replica } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

test("a runtime is connected, as the store says, while its replica is cut off from the bus", async () => {
  cluster = await startCluster(["x", "y"], WATCHFUL);
  const { x, y, deliver } = await cluster.place();
  cluster.hub.set(y.name, "cut");

  expect(await deliver()).toEqual({ kind: "undelivered" });

  expect(await x.gateway.connected("agent-a")).toBe(true);
});

test("a wait for a runtime ends when its replica, which was cut off from the bus, is reachable again", async () => {
  cluster = await startCluster(["x", "y"], { ...WATCHFUL, arrivalMs: 600_000 });
  const { x, y, desk, deliver } = await cluster.place();
  cluster.hub.set(y.name, "cut");
  await deliver();
  const assigned = x.gateway.assign("agent-a", cluster.hash, "echo", { signal });

  cluster.hub.set(y.name, "on");

  expect(await assigned).toBe(desk.instanceId);
});

test("a wait for a runtime ends although the announcement of its connection is lost", async () => {
  cluster = await startCluster(["x", "y"], { ...WATCHFUL, arrivalMs: 600_000 });
  const [x, y] = cluster.replicas as [Replica, Replica];
  const gone = await cluster.connectRuntime(x);
  gone.die();
  await until(() => x.gateway.connectionCount() === 0, "the loss");
  const session = x.gateway.session("agent-a", { signal });
  cluster.hub.fate = ({ label }) => (label === "publish runtimes" ? "drop" : "pass");

  await cluster.connectRuntime(y);

  expect((await session)?.manifestHash).toBe(cluster.hash);
});
