import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import * as nemeses from "../nemeses.ts";
import { type Scenario, together } from "./scenario.ts";
import { residentKb } from "../memory.ts";

export const soak: Scenario = {
  name: "soak",
  promise: "Every kind of fault at random, for as long as wanted: all invariants hold.",
  lab: { runtimes: 3 },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const { torment, ...all } = nemeses;
    const faults = await torment(lab, Object.values(all), { seconds, dice, pauseMs: [3_000, 12_000] });
    const endings = await load.stop();
    const mayFail = ["agent_session_not_found"];
    const found = await check(lab, {
      endings,
      succeeded: 0.9 * endings.length,
      mayFail,
      failedShare: 0.5,
      unknownShare: 0.05,
    });
    const exits = [...lab.replicas, ...lab.tenants.flatMap(({ runtimes }) => runtimes)].map((one) => one.exits);
    const rssMb = Math.round(Math.max(...lab.replicas.map(({ pid }) => residentKb(pid))) / 1_024);
    return together(
      found,
      { faults, exits: exits.reduce((sum, one) => sum + one, 0), rssMb },
      {
        "faults were made": faults > 0,
        "no process exited by itself": exits.every((one) => one === 0),
      },
    );
  },
};
