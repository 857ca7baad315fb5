import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { createClient } from "../client.ts";
import type { PlannedCall } from "../plan.ts";
import { type Scenario, together } from "./scenario.ts";

export const resumedStreams: Scenario = {
  name: "resumed-streams",
  promise: "Streams of a killed replica go on at another one without an event lost or repeated.",
  lab: {},
  async run(lab, { rate, dice }) {
    const streams = Math.round(rate);
    const endings = Array.from({ length: streams }, (_, index) => {
      const tenant = lab.tenants[index % lab.tenants.length]!;
      const id = `${tenant.name}.resumed.${process.pid}.${dice.digits(9)}`;
      const turn = (step: number): PlannedCall[] => [{ name: "charge", id: `${id}.${step}`, ms: dice.between(0, 500) }];
      const plan = { id, thinkMs: dice.between(50, 500), turns: Array.from({ length: 6 }, (_, step) => turn(step)) };
      return createClient({ tenant, urls: () => lab.urls, history: lab.history })({ plan, mode: "stream", replica: 0 });
    });
    await sleep(2_500);
    await lab.replicas[0]!.kill();
    const ended = await Promise.all(endings);
    await lab.replicas[0]!.start();
    const found = await check(lab, { endings: ended, succeeded: streams, unknownShare: 0.01 });
    return together(found, {}, { "streams were cut": Number(found.figures["broken"]) >= streams / 2 });
  },
};
