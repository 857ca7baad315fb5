import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import * as faultInjection from "../fault-injection.ts";
import { type Scenario, together } from "./scenario.ts";
import { residentKb } from "../process.ts";

export const soak: Scenario = {
  name: "soak",
  promise: "All invariants hold after random faults of every kind.",
  lab: { runtimes: 3 },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const { injectFaults, ...all } = faultInjection;
    const faults = await injectFaults(lab, Object.values(all), { seconds, dice, pauseMs: [3_000, 12_000] });
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
        "faults were injected": faults > 0,
        "no process exited by itself": exits.every((one) => one === 0),
      },
    );
  },
};
