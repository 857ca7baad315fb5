import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import { holdCalls } from "./held-calls.ts";
import { type Scenario, together } from "./scenario.ts";

const CALLS = 50;

export const drainedRuntime: Scenario = {
  name: "drained-runtime",
  promise: "A runtime told to end finishes its 50 calls and takes no other.",
  lab: { replicas: 2, tenants: 0 },
  async run(lab) {
    const tenant = await lab.addTenant({ runtimes: 1 });
    const [leaving] = tenant.runtimes;
    const held = holdCalls(lab, tenant, { queries: 5, calls: CALLS / 5 });
    await held.running();
    const staying = await tenant.connect();
    const ended = leaving!.terminate();
    await sleep(1_000);
    const late = holdCalls(lab, tenant, { queries: 5, calls: 2 });
    await late.running();
    const taken = late.begun().filter(({ pid }) => pid !== staying.pid).length;
    await Promise.all([held.release(), late.release()]);
    const endings = [...(await held.endings), ...(await late.endings)];
    const { code, ms } = await ended;
    await leaving!.start();
    const found = await check(lab, { endings, succeeded: endings.length });
    const kept = held.begun().length;
    return together(
      found,
      { finished: kept, takenWhileDraining: taken, exitMs: largest([ms]) },
      {
        "each call ran once": kept === CALLS,
        "no call was taken while draining": taken === 0,
        "exit with 0 within 30 s": code === 0 && ms <= 30_000,
      },
    );
  },
};
