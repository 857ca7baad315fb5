import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import { startLoad } from "../load.ts";
import { type Scenario, together } from "./scenario.ts";

export const rollingRestart: Scenario = {
  name: "rolling-restart",
  promise: "Replicas restarted one after another by SIGTERM at load fail no query.",
  lab: {},
  async run(lab, { rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const exits: { code: number | null; ms: number }[] = [];
    for (const replica of lab.replicas) {
      await sleep(2_000);
      exits.push(await replica.terminate());
      await replica.start();
    }
    await sleep(2_000);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: endings.length });
    const slowest = largest(exits.map(({ ms }) => ms));
    return together(
      found,
      { restarts: exits.length, slowestExitMs: slowest },
      {
        "each replica exited with 0": exits.every(({ code }) => code === 0),
        "each exit within 25 s": slowest <= 25_000,
      },
    );
  },
};
