import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { holdCalls } from "./held-calls.ts";
import { type Scenario, together } from "./scenario.ts";

const CALLS = 10;

export const adoptedCalls: Scenario = {
  name: "adopted-calls",
  promise: "Calls that run at living runtimes when their replica is killed are adopted by another, and run once.",
  lab: { tenants: 0 },
  async run(lab, { rate }) {
    const queries = Math.max(1, Math.round(rate));
    const tenants = await Promise.all([0, 1].map(() => lab.addTenant({ concurrency: 256 })));
    const groups = tenants.map((tenant) => holdCalls(lab, tenant, { queries, calls: CALLS, replica: 0 }));
    await Promise.all(groups.map((group) => group.running()));
    await lab.replicas[0]!.kill();
    const killedAt = performance.now();
    // Longer than the lease: the calls still run when their runs have a new owner.
    await sleep(17_000);
    await Promise.all(groups.map((group) => group.release()));
    const endings = (await Promise.all(groups.map((group) => group.endings))).flat();
    const endedMs = Math.round(performance.now() - killedAt);
    await lab.replicas[0]!.start();
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 0.01 });
    const reruns = groups.flatMap((group) => group.begun()).length - Number(found.figures["calls"]);
    return together(found, { reruns, endedMs }, { "no call ran again": reruns === 0 });
  },
};
