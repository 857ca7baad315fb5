import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import { restartPostgres, torment } from "../nemeses.ts";
import { type Scenario, together } from "./scenario.ts";

export const restartedPostgres: Scenario = {
  name: "restarted-postgres",
  promise: "Postgres stopped hard again and again costs time, no query and no replica.",
  lab: {},
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const restarts = await torment(lab, [restartPostgres], { seconds, dice, pauseMs: [5_000, 10_000] });
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: 0.95 * endings.length, unknownShare: 0.01 });
    const exits = lab.replicas.reduce((sum, replica) => sum + replica.exits, 0);
    return together(
      found,
      { restarts, exits },
      {
        "Postgres was restarted": restarts > 0,
        "no replica exited": exits === 0,
      },
    );
  },
};
