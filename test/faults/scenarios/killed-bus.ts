import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { longestSilence } from "../history.ts";
import { startLoad } from "../load.ts";
import { type Scenario, together } from "./scenario.ts";

const HANG_MS = 20_000;

export const killedBus: Scenario = {
  name: "killed-bus",
  promise:
    "Without the bus a query succeeds or fails clearly in time, and all is as before soon after the bus is back.",
  lab: {},
  async run(lab, { seconds, rate, dice, patience }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(3_000);
    await lab.nats!.kill9();
    await sleep(seconds * 1_000);
    await lab.nats!.start();
    await sleep(3_000);
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
      { downSeconds: seconds, longestSilenceMs, failedAfter, exits },
      {
        "no query was silent for longer than 20 s": longestSilenceMs <= HANG_MS * patience,
        "no query failed once the bus was back": failedAfter === 0,
        "no replica exited": exits === 0,
      },
    );
  },
};
