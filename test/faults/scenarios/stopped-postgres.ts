import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import { startLoad } from "../load.ts";
import { queryOf } from "../plan.ts";
import type { Lab } from "../lab.ts";
import { type Scenario, together } from "./scenario.ts";

export const stoppedPostgres: Scenario = {
  name: "stopped-postgres",
  promise:
    "Without Postgres a query is refused with 503 and Retry-After, and served again soon after Postgres is back.",
  lab: {},
  async run(lab, { seconds, rate, dice, patience }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(3_000);
    await lab.postgres!.stop("immediate");
    // Connections that hang at the moment of the stop have time-outs of their own.
    await sleep(1_000);
    const probes = await probe(lab, seconds);
    await lab.postgres!.start();
    const backAt = Date.now();
    const healedMs = await firstSuccess(lab, backAt);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: 0.95 * endings.length, unknownShare: 0.01 });
    const exits = lab.replicas.reduce((sum, replica) => sum + replica.exits, 0);
    const slowestMs = largest(probes.map(({ ms }) => ms));
    const statuses = new Set(probes.map(({ status }) => status));
    const figures = { downSeconds: seconds, probes: probes.length, refusedWithinMs: slowestMs, healedMs, exits };
    return together(found, figures, {
      "each query without a database was answered 503": statuses.size === 1 && statuses.has(503),
      "each 503 said when to come again": probes.every(({ retryAfter }) => retryAfter > 0),
      "refused within 10 s": slowestMs <= 10_000 * patience,
      "a query succeeded within 5 s of the return": healedMs <= 5_000 * patience,
      "no replica exited": exits === 0,
    });
  },
};

/** Asks each replica in turn, as a client that does not ask again. */
async function probe(lab: Lab, seconds: number) {
  const { agentId, apiKey } = lab.tenants[0]!;
  const endsAt = performance.now() + seconds * 1_000;
  const probes: { status: number; ms: number; retryAfter: number }[] = [];
  for (let index = 0; performance.now() < endsAt; index++) {
    const began = performance.now();
    const response = await fetch(`${lab.urls[index % lab.urls.length]}/agents/${agentId}/query`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body: JSON.stringify({ query: queryOf({ id: `${lab.tenants[0]!.name}.probe.${index}`, turns: [] }) }),
    });
    await response.text();
    const retryAfter = Number(response.headers.get("retry-after") ?? 0);
    probes.push({ status: response.status, ms: performance.now() - began, retryAfter });
    await sleep(250);
  }
  return probes;
}

async function firstSuccess(lab: Lab, backAt: number): Promise<number> {
  for (;;) {
    const success = lab.history.noted.findLast(
      (one) =>
        one.at > backAt &&
        ((one.kind === "event" && one.data.startsWith('{"type":"finalResponse"')) || one.kind === "answer"),
    );
    if (success) return success.at - backAt;
    if (Date.now() - backAt > 60_000) return Infinity;
    await sleep(50);
  }
}
