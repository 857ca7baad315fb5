import { monotonicMs, sleep } from "@patchbay/kit/time";
import { gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import type { Fate, Message } from "./bus-hub.ts";
import { startCluster, timesRun, type Ending, type Replica } from "./cluster.ts";
import { simulatedLinks } from "./simulated-links.ts";
import { WATCHFUL } from "./times.ts";

/** Three checks of calls at other replicas, which find what a lost message would have reported. */
const CHECKED_MS = 3 * WATCHFUL.callCheckMs;

/**
 * Causes every kind of message between replicas: two calls of one turn, of which one is queued behind the other, and a runtime
 * that moves during a call, so that it is asked for the state of the call.
 */
const scenario = (fate: (message: Message) => Fate) => inVirtualTime(({ world }) => play(simulatedLinks(world), fate));

async function play(links: ReturnType<typeof simulatedLinks>, fate: (message: Message) => Fate) {
  await using cluster = await startCluster(["x", "y", "z"], { ...WATCHFUL, links });
  const [x, y, z] = cluster.replicas as [Replica, Replica, Replica];
  cluster.hub.isPatient = false;
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
  // Meanwhile calls are checked and the state of the first one is asked for.
  await sleep(CHECKED_MS);
  gate.open();
  const openedAt = monotonicMs();
  const endings = [(await first).ending, (await second).ending];
  const endedMs = monotonicMs() - openedAt;
  await sleep(CHECKED_MS);
  return { endings, endedMs, carried: [...cluster.hub.carried], times: [...timesRun([desk]).values()] };
}

const good: Ending = { ok: true, value: { text: "hello" } };

/** A result reaches the run's replica directly, or by way of the store. */
const PATHS = [
  { answers: "arrive", isLost: () => false, more: [] },
  { answers: "are lost", isLost: ({ label }: Message) => label === "publish answered", more: ["publish stored"] },
];
const KINDS = [
  ...["call", "query", "check", "acknowledge"].flatMap((kind) => [`request ${kind}`, `reply ${kind}`]),
  ...["sent", "state", "answered", "released", "runtimes"].map((kind) => `publish ${kind}`),
];

test.each(PATHS)(
  "when any single message between replicas is lost or repeated, both calls succeed and run once: answers $answers",
  async ({ isLost, more }) => {
    const base = await scenario((message) => (isLost(message) ? "drop" : "pass"));
    expect(base).toMatchObject({ endings: [good, good], times: [1, 1] });
    const kinds = new Set(base.carried.map((message) => message.replace(/ \d+$/, "")));
    expect([...kinds].toSorted()).toEqual([...KINDS, ...more].toSorted());

    for (const fate of ["drop", "twice"] as const)
      for (const message of base.carried) {
        let hits = 0;
        const { endings, times, endedMs } = await scenario((one) => {
          if (`${one.label} ${one.nth}` === message) hits++;
          else return isLost(one) ? "drop" : "pass";
          return fate;
        });
        expect({ message, fate, hits, endings, times }).toEqual({
          message,
          fate,
          hits: 1,
          endings: [good, good],
          times: [1, 1],
        });
        expect(endedMs, `${fate} ${message}`).toBeLessThanOrEqual(CHECKED_MS);
      }
  },
);
