import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import { type Scenario, together } from "./scenario.ts";

const LEASE_MS = 15_000;

export const pausedReplica: Scenario = {
  name: "paused-replica",
  promise: "A replica frozen for two leases finds its runs with others when it wakes, and doubles nothing of theirs.",
  lab: {},
  async run(lab, { rate, dice }) {
    // Turns and calls that take a while: the frozen replica is in the middle of many.
    const load = startLoad(lab, { rate, dice, thinkMs: 300, callMs: 300 });
    await sleep(3_000);
    const replica = dice.pick(lab.replicas);
    replica.pause();
    await sleep(2 * LEASE_MS);
    replica.resume();
    await sleep(3_000);
    const endings = await load.stop();
    // An agent whose runtimes were all linked to it has none until they notice: its queries fail, and say so.
    const mayFail = ["agent_session_not_found"];
    const terms = { endings, succeeded: 0.5 * endings.length, mayFail, failedShare: 0.5, unknownShare: 0.01 };
    const found = await check(lab, terms);
    await using tables = await lab.tables();
    const [row] = await tables.rows<{ count: number }>(
      "select count(*) as count from audit where action = 'run.resumed'",
    );
    const takenOver = row?.count ?? 0;
    const leasesLost = replica.log().match(/lease|fence/gi)?.length ?? 0;
    return together(
      found,
      { takenOver, leasesLost, exits: replica.exits },
      {
        "runs of the frozen replica were taken over": takenOver > 0,
        "the frozen replica found its leases lost": leasesLost > 0,
        "the frozen replica goes on": replica.alive && replica.exits === 0,
      },
    );
  },
};
