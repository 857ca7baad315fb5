import { setTimeout as sleep, setTimeout as wait } from "node:timers/promises";
import { check } from "../checker.ts";
import { createClient, type Ending } from "../client.ts";
import { type PlannedCall, queryOf } from "../plan.ts";
import { largest } from "../figures.ts";
import { type Scenario, together } from "./scenario.ts";

const COPIES = 100;

export const repeatedKey: Scenario = {
  name: "repeated-key",
  promise: "A query sent 100 times concurrently over all replicas with one Idempotency-Key is one run and one charge.",
  lab: {},
  async run(lab, { rate, dice }) {
    const rounds = Math.round(rate);
    const tenant = lab.tenants[0]!;
    const bodies: number[] = [];
    const statuses = new Set<number>();
    const ids: string[] = [];
    let refused503 = 0;
    for (let round = 0; round < rounds; round++) {
      const id = `${tenant.name}.same.${dice.digits(9)}`;
      ids.push(id);
      const body = JSON.stringify({ query: queryOf({ id, turns: [[{ name: "charge", id: `${id}.a`, ms: 20 }]] }) });
      const headers = { "x-api-key": tenant.apiKey, "content-type": "application/json", "idempotency-key": id };
      const answers = await Promise.all(
        Array.from({ length: COPIES }, async (_, copy) => {
          const url = `${lab.urls[copy % lab.urls.length]}/agents/${tenant.agentId}/query`;
          for (;;) {
            const response = await fetch(url, { method: "POST", headers, body });
            const text = await response.text();
            if (response.status !== 503) {
              statuses.add(response.status);
              return text;
            }
            // Too many concurrent requests for this machine: retry with the same key, as the contract says.
            refused503++;
            await wait(Number(response.headers.get("retry-after")) * 1_000);
          }
        }),
      );
      bodies.push(new Set(answers).size);
    }
    const endings: Ending[] = [];
    const found = await check(lab, { endings, succeeded: 0 });
    await using tables = await lab.tables();
    const runs = await tables.rows(`select id from runs where request like '%.same.%'`);
    const charges = lab.functionNotes().filter(({ phase, id }) => phase === "begin" && ids.includes(id.slice(0, -2)));
    const figures = {
      rounds,
      copies: COPIES,
      runs: runs.length,
      charges: charges.length,
      differing: largest(bodies) - 1,
      refused503,
    };
    return together(found, figures, {
      "one run each": runs.length === rounds,
      "one charge each": charges.length === rounds,
      "equal bodies": bodies.every((different) => different === 1),
      "each copy was answered": statuses.size === 1 && statuses.has(200),
    });
  },
};

export const resumedStreams: Scenario = {
  name: "resumed-streams",
  promise: "Streams of a killed replica continue at another one without a lost or repeated event.",
  lab: {},
  async run(lab, { rate, dice }) {
    const streams = Math.round(rate);
    const endings = Array.from({ length: streams }, (_, index) => {
      const tenant = lab.tenants[index % lab.tenants.length]!;
      const id = `${tenant.name}.resumed.${process.pid}.${dice.digits(9)}`;
      const turn = (step: number): PlannedCall[] => [{ name: "charge", id: `${id}.${step}`, ms: dice.between(0, 500) }];
      const plan = { id, thinkMs: dice.between(50, 500), turns: Array.from({ length: 6 }, (_, step) => turn(step)) };
      return createClient({ tenant, lab })({ plan, mode: "stream", replica: 0 });
    });
    await sleep(2_500);
    await lab.replicas[0]!.kill();
    const ended = await Promise.all(endings);
    await lab.replicas[0]!.start();
    const found = await check(lab, { endings: ended, succeeded: streams, unknownShare: 0.01 });
    return together(found, {}, { "streams were cut": Number(found.figures["broken"]) >= streams / 2 });
  },
};
