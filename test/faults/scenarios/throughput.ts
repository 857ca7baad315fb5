import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { createClient, type Ending } from "../client.ts";
import type { Lab } from "../lab.ts";
import { type Scenario, together } from "./scenario.ts";

export const throughput: Scenario = {
  name: "throughput",
  promise: "Two replicas answer more queries than one if there are processors for both.",
  lab: { replicas: 2, tier: "sandbox" },
  async run(lab, { seconds, rate: clients }) {
    const endings: Ending[] = [];
    await ask(lab, { clients, seconds: 5, urls: lab.urls, endings });
    const two = await ask(lab, { clients, seconds, urls: lab.urls, endings });
    await lab.replicas[1]!.terminate();
    await sleep(2_000);
    const one = await ask(lab, { clients, seconds, urls: lab.urls.slice(0, 1), endings });
    await lab.replicas[1]!.start();
    const found = await check(lab, { endings, succeeded: endings.length });
    const figures = {
      clients,
      twoPerSecond: two.perSecond,
      onePerSecond: one.perSecond,
      ratio: (two.perSecond / one.perSecond).toFixed(2),
      processorsBusyOfTwo: two.busy,
      processorsBusyOfOne: one.busy,
    };
    return together(found, figures, {});
  },
};

/** Runs clients that each send one query after the other. */
async function ask(
  lab: Lab,
  { clients, seconds, urls, endings }: { clients: number; seconds: number; urls: readonly string[]; endings: Ending[] },
) {
  const endsAt = performance.now() + seconds * 1_000;
  const before = processorTicks();
  let count = 0;
  const one = async (index: number): Promise<void> => {
    const tenant = lab.tenants[index % lab.tenants.length]!;
    const query = createClient({ tenant, lab: { ...lab, urls } });
    for (let round = 0; performance.now() < endsAt; round++) {
      const id = `${tenant.name}.many.${seconds}.${urls.length}.${index}.${round}`;
      const turn = (part: number) => [{ name: "charge" as const, id: `${id}.${part}` }];
      endings.push(await query({ plan: { id, turns: [turn(1), turn(2), turn(3)] }, mode: "json" }));
      if (performance.now() < endsAt) count++;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => one(index)));
  const after = processorTicks();
  const busy = (after.busy - before.busy) / (after.all - before.all);
  return { perSecond: Math.round((10 * count) / seconds) / 10, busy: `${Math.round(100 * busy)}%` };
}

/** Total time of all processors, and the busy part of it. */
function processorTicks(): { all: number; busy: number } {
  const [first = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const ticks = first.trim().split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, one) => sum + one, 0);
  return { all, busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0) };
}
