import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import { longestSilence } from "../history.ts";
import { until } from "../held-calls.ts";
import { startLoad } from "../load.ts";
import { metricOf } from "../metrics.ts";
import { type Scenario, together } from "./scenario.ts";

export const cutFromDatabase: Scenario = {
  name: "cut-from-database",
  promise:
    "A replica cut off only from the database releases its runs, others take them over, and no row is duplicated.",
  lab: { proxies: true },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice, thinkMs: 100, callMs: 100 });
    await sleep(3_000);
    const victim = dice.between(0, lab.replicas.length - 1);
    lab.proxies[victim]!.database.cut();
    await sleep(seconds * 1_000);
    lab.proxies[victim]!.database.restore();
    await sleep(5_000);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: 0.95 * endings.length, unknownShare: 0.01 });
    const { exits } = lab.replicas[victim]!;
    return together(found, { cutSeconds: seconds, exits }, { "the cut replica continues": exits === 0 });
  },
};

export const cutFromBus: Scenario = {
  name: "cut-from-bus",
  promise: "A replica cut off only from the bus continues its runs; calls that it cannot deliver fail clearly.",
  lab: { proxies: true },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(3_000);
    const victim = dice.between(0, lab.replicas.length - 1);
    lab.proxies[victim]!.bus.cut();
    await sleep(seconds * 1_000);
    lab.proxies[victim]!.bus.restore();
    await sleep(5_000);
    const endings = await load.stop();
    const mayFail = ["agent_session_not_found"];
    const terms = { endings, succeeded: 0.5 * endings.length, mayFail, failedShare: 0.5, unknownShare: 0.01 };
    const found = await check(lab, terms);
    const longestSilenceMs = longestSilence(lab.history.noted);
    const { exits } = lab.replicas[victim]!;
    return together(
      found,
      { cutSeconds: seconds, longestSilenceMs, exits },
      { "the cut replica continues": exits === 0 },
    );
  },
};

export const killedBus: Scenario = {
  name: "killed-bus",
  promise: "Without the bus a query succeeds or fails clearly, and service is normal once the bus has returned.",
  lab: {},
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(3_000);
    await lab.nats!.kill9();
    await sleep(seconds * 1_000);
    await lab.nats!.start();
    const backAt = performance.now();
    const reached = async () => (await metricOf(lab, "bus_up")).every((up) => up === 1);
    await until(reached, "each replica reaches the bus", 30_000 * lab.patience);
    const reachedMs = largest([performance.now() - backAt]);
    const without = await load.stop();
    const after = startLoad(lab, { rate, dice });
    await sleep(5_000);
    const restored = await after.stop();
    const mayFail = ["agent_session_not_found"];
    const endings = [...without, ...restored];
    const found = await check(lab, {
      endings,
      succeeded: 0.5 * endings.length,
      mayFail,
      failedShare: 0.5,
      unknownShare: 0.01,
    });
    const failedAfter = restored.filter(({ kind }) => kind !== "succeeded").length;
    const exits = lab.replicas.reduce((sum, replica) => sum + replica.exits, 0);
    const longestSilenceMs = longestSilence(lab.history.noted);
    return together(
      found,
      { downSeconds: seconds, reachedMs, longestSilenceMs, failedAfter, exits },
      {
        "no query failed once the bus was back": failedAfter === 0,
        "no replica exited": exits === 0,
      },
    );
  },
};
