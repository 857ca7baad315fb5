import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { longestSilence } from "../history.ts";
import { startLoad } from "../load.ts";
import { type Scenario, together } from "./scenario.ts";

export const cutFromDatabase: Scenario = {
  name: "cut-from-database",
  promise: "A replica cut from the database alone gives its runs up, others take them over, and no row is doubled.",
  lab: { ways: true },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice, thinkMs: 100, callMs: 100 });
    await sleep(3_000);
    const victim = dice.between(0, lab.replicas.length - 1);
    lab.ways[victim]!.database.cut();
    await sleep(seconds * 1_000);
    lab.ways[victim]!.database.mend();
    await sleep(5_000);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: 0.95 * endings.length, unknownShare: 0.01 });
    const { exits } = lab.replicas[victim]!;
    return together(found, { cutSeconds: seconds, exits }, { "the cut replica goes on": exits === 0 });
  },
};

export const cutFromBus: Scenario = {
  name: "cut-from-bus",
  promise: "A replica cut from the bus alone goes on with its runs; what it cannot place fails clearly and in time.",
  lab: { ways: true },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(3_000);
    const victim = dice.between(0, lab.replicas.length - 1);
    lab.ways[victim]!.bus.cut();
    await sleep(seconds * 1_000);
    lab.ways[victim]!.bus.mend();
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
      {
        "no query was silent for longer than 20 s": longestSilenceMs <= 20_000,
        "the cut replica goes on": exits === 0,
      },
    );
  },
};
