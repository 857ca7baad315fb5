import { afterEach, expect, test } from "vitest";
import { gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import type { Fate, Message } from "./bus-hub.ts";
import { startCluster, timesRun, type Cluster, type Ending, type Replica } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;

afterEach(() => cluster[Symbol.asyncDispose]());

/**
 * Causes every kind of message between replicas: two calls of one turn, of which one is queued behind the other, and a runtime
 * that moves during a call, so that it is asked for the state of the call.
 */
async function scenario(fate: (message: Message) => Fate) {
  cluster = await startCluster(["x", "y", "z"], WATCHFUL);
  const [x, y, z] = cluster.replicas as [Replica, Replica, Replica];
  const gate = gated();
  const desk = await cluster.connectRuntime(y, { answer: gate.answer, concurrency: 1 });
  const run = await cluster.startRun(x);
  await x.gateway.connected("agent-a");
  cluster.hub.carried.length = 0;
  cluster.hub.fate = fate;
  const first = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the first call");
  const second = cluster.callToEnd(x, run);
  await until(() => cluster.hub.carried.includes("request call 2"), "the second call offered");
  desk.move(z);
  await desk.at(z);
  gate.open();
  const endings = [(await first).ending, (await second).ending];
  const carried = [...cluster.hub.carried];
  await cluster[Symbol.asyncDispose]();
  return { endings, carried, times: [...timesRun([desk]).values()] };
}

const good: Ending = { ok: true, value: { text: "hello" } };

test("when any single message between replicas is lost or repeated, both calls succeed and run once", async () => {
  const { endings, carried, times } = await scenario(() => "pass");
  expect({ endings, times }).toEqual({ endings: [good, good], times: [1, 1] });
  const kinds = [
    "call",
    "query",
    "sent",
    "state",
    "answered",
    "acknowledge",
    "stored",
    "released",
    "check",
    "runtimes",
  ];
  const wanted = carried.filter((message) => {
    const [, kind = "", nth] = message.split(" ");
    // A slow scenario repeats checks and announcements many times.
    return kinds.includes(kind) && Number(nth) <= 4;
  });

  const hit = { drop: new Set<string>(), twice: new Set<string>() };
  for (const fate of ["drop", "twice"] as const) {
    for (const message of wanted) {
      let met = false;
      const result = await scenario(({ label, nth }) => {
        if (`${label} ${nth}` !== message) return "pass";
        met = true;
        return fate;
      });
      if (met) hit[fate].add(message);
      expect({ message, fate, endings: result.endings, times: result.times }).toEqual({
        message,
        fate,
        endings: [good, good],
        times: [1, 1],
      });
    }
  }
  console.log(
    `gateway lost messages: messages ${wanted.length}, lost ${hit.drop.size}, repeated ${hit.twice.size}, ran twice 0`,
  );
  expect(wanted.length).toBeGreaterThan(8);
  // The others depend on timing, so they are not sent in every repetition.
  for (const certain of ["request call 1", "reply call 1", "request call 2", "reply call 2", "publish released 1"])
    for (const met of Object.values(hit)) expect(met).toContain(certain);
});
