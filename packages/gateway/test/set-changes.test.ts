import { afterEach, expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import type { Announcement } from "../src/peers/messages.ts";
import { type Cluster, startCluster } from "./cluster.ts";

let cluster: Cluster;

afterEach(() => cluster[Symbol.asyncDispose]());

/** Two replicas, and what each of them reported of the agent. */
async function startPair() {
  cluster = await startCluster(["x", "y"]);
  const counts = [0, 0];
  const watches = cluster.replicas.map(({ gateway }, at) => gateway.onChange("agent-a", () => void counts[at]!++));
  return {
    counts,
    watches,
    /** Waits for a report of every replica, and returns what new runs get at each of them then. */
    async reported() {
      await until(() => counts.every((count) => count > 0), "a report of every replica");
      counts.fill(0);
      const sessions = await Promise.all(cluster.replicas.map(({ gateway }) => gateway.serving("agent-a")));
      return sessions.map(({ set }) => set?.manifest.functions.map(({ name }) => name));
    },
  };
}

test("every replica reports a runtime that connects and one that leaves, once new runs get other functions", async () => {
  const { reported } = await startPair();

  const runtime = await cluster.connectRuntime(cluster.replicas[1]!, { functions: ["echo", "wipe"] });
  const functions = ["echo", "wipe"];
  expect(await reported()).toEqual([functions, functions]);

  runtime.die();
  expect(await reported()).toEqual([undefined, undefined]);
});

test("every replica reports a runtime that begins to drain", async () => {
  const gate = Promise.withResolvers<void>();
  const { reported } = await startPair();
  const answer = async () => {
    await gate.promise;
    return { ok: true as const, value: null };
  };
  const { desk, deliver } = await cluster.place({ answer });
  await reported();
  const delivery = deliver();
  await until(() => desk.service.invoked.length === 1, "the call");

  const stopped = desk.connection.stop();

  expect(await reported()).toEqual([undefined, undefined]);
  gate.resolve();
  await Promise.all([delivery, stopped]);
});

test("a change of an agent is reported at every replica, until the listener ends", async () => {
  const { counts, watches, reported } = await startPair();
  const [x, y] = cluster.replicas;

  x!.gateway.agentChanged("agent-b");
  x!.gateway.agentChanged("agent-a");
  await reported();
  watches[1]![Symbol.dispose]();
  y!.gateway.agentChanged("agent-a");
  await until(() => counts[0] === 1, "the report");

  expect(counts).toEqual([1, 0]);
});

test("a load that changes is not reported", async () => {
  const { counts } = await startPair();

  const loads: number[] = [];
  cluster.hub.fate = ({ label, body }) => {
    if (label === "publish runtimes")
      loads.push(...(body as unknown as Announcement).connections.map(({ calls }) => calls));
    return "pass";
  };
  const { gate, delivery } = await cluster.placeRunning();
  await until(() => loads.at(-1) === 1, "the load during the call");
  gate.open();
  await delivery;
  await until(() => loads.at(-1) === 0, "the load after the call");

  // The connection itself.
  expect(counts).toEqual([1, 1]);
});
