import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import { killReplica, torment } from "../nemeses.ts";
import { type Scenario, together } from "./scenario.ts";

export const killedReplicas: Scenario = {
  name: "killed-replicas",
  promise: "Replicas killed one after another lose no acknowledged event, no run and run nothing twice.",
  lab: {},
  async run(lab, { seconds, rate, dice, patience }) {
    const load = startLoad(lab, { rate, dice, thinkMs: 500 });
    // A kill each 20 s, the time of the next start included; a short run has two.
    const everyMs = Math.min(16_000, 400 * seconds);
    const pauseMs = [0.8 * everyMs, everyMs] as const;
    const kills = await torment(lab, [killReplica], { seconds, dice, pauseMs });
    const endings = await load.stop();
    const found = await check(lab, {
      endings,
      succeeded: 0.95 * endings.length,
      unknownShare: 0.01,
      failedShare: 0.01,
    });
    await using tables = await lab.tables();
    const [row] = await tables.rows<{ count: number }>(
      "select count(*) as count from audit where action = 'run.resumed'",
    );
    return together(
      found,
      { kills, resumedRuns: row?.count ?? 0 },
      {
        "a replica was killed": kills > 0,
        "a run was taken over": (row?.count ?? 0) > 0,
        "recovery p99 within 20 s": Number(found.figures["recoveryP99Ms"]) <= 20_000 * patience,
      },
    );
  },
};
