import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import { type Scenario, together } from "./scenario.ts";

const OFFSETS = ["+3h", "-3h"];

export const wrongClocks: Scenario = {
  name: "wrong-clocks",
  promise: "Replicas whose clocks are hours apart take no lease from one another.",
  lab: { under: (index) => (OFFSETS[index] ? ["faketime", "-f", OFFSETS[index]] : []) },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(seconds * 1_000);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: endings.length });
    await using tables = await lab.tables();
    const [row] = await tables.rows<{ count: number }>(
      "select count(*) as count from audit where action = 'run.resumed'",
    );
    const stolen = row?.count ?? 0;
    return together(
      found,
      { offsets: OFFSETS.join(), seconds, stolenLeases: stolen },
      {
        "no lease was taken": stolen === 0,
      },
    );
  },
};
