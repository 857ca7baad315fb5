import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import { until } from "../held-calls.ts";
import { startLoad } from "../load.ts";
import { queryOf } from "../plan.ts";
import type { Lab } from "../lab.ts";
import { type Scenario, together } from "./scenario.ts";
import { restartPostgres, injectFaults } from "../fault-injection.ts";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

export const stoppedPostgres: Scenario = {
  name: "stopped-postgres",
  promise: "Without Postgres a query gets 503 with Retry-After, and succeeds after Postgres has returned.",
  lab: {},
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(3_000);
    await lab.postgres!.stop("immediate");
    // Connections that hang at the moment of the stop have their own timeouts.
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
      "each 503 had Retry-After": probes.every(({ retryAfter }) => retryAfter > 0),
      "no replica exited": exits === 0,
    });
  },
};

/** Queries each replica in turn, without retries. */
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
  const success = () =>
    lab.history.noted.find(
      (one) =>
        one.at > backAt &&
        ((one.kind === "event" && one.data.startsWith('{"type":"finalResponse"')) || one.kind === "answer"),
    );
  await until(() => success() !== undefined, "a query succeeds", 60_000 * lab.patience);
  return success()!.at - backAt;
}

export const restartedPostgres: Scenario = {
  name: "restarted-postgres",
  promise: "Repeated immediate stops of Postgres delay queries, but fail no query and end no replica.",
  lab: {},
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const restarts = await injectFaults(lab, [restartPostgres], { seconds, dice, pauseMs: [5_000, 10_000] });
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

export const fullDisk: Scenario = {
  name: "full-disk",
  promise: "With a full disk queries get 503 and nothing is lost; once there is space, the service continues.",
  lab: { embedded: true, diskMb: 64 },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const ballast = join(lab.disk, "ballast");
    await sleep(3_000);
    fill(ballast);
    // Between failed writes, a small one can fit into the log file that SQLite already has, and the replica is ready again.
    const readyWhileFull: number[] = [];
    for (let half = 0; half < 2 * seconds; half++) {
      await sleep(500);
      readyWhileFull.push(await readiness(lab));
    }
    rmSync(ballast);
    await sleep(5_000);
    const readyAfter = await readiness(lab);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: 0.95 * endings.length });
    const { exits } = lab.replicas[0]!;
    return together(
      found,
      { fullSeconds: seconds, notReady: readyWhileFull.filter((status) => status === 503).length, exits },
      {
        "the replica was not ready while the disk was full": readyWhileFull.includes(503),
        "it was ready again afterwards": readyAfter === 200,
        "queries got 503 while it was full": Number(found.figures["refused503"]) > 0,
        "the process continues": exits === 0,
      },
    );
  },
};

const readiness = async ({ urls }: Lab): Promise<number> => (await fetch(`${urls[0]}/readyz`)).status;

/** Writes until the disk is full; the replica writes meanwhile too. */
function fill(file: string): void {
  const piece = Buffer.alloc(65_536);
  const ballast = openSync(file, "w");
  try {
    for (;;) writeSync(ballast, piece);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ENOSPC") throw error;
  } finally {
    closeSync(ballast);
  }
}

const EVERY = 40;
const FAILING = `inject=fsync,fdatasync:error=EIO:when=400+${EVERY}`;

export const failingDisk: Scenario = {
  name: "failing-disk",
  promise: "Writes that fail on the disk are not acknowledged, and the process continues.",
  lab: {
    embedded: true,
    needs: "strace",
    under: () => ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", FAILING],
  },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(seconds * 1_000);
    const endings = await load.stop();
    const mayFail = ["http 500", "internal"];
    const found = await check(lab, { endings, succeeded: 0.5 * endings.length, mayFail });
    const { exits } = lab.replicas[0]!;
    const waits = lab.replicas[0]!.log().match(/store unavailable|store out of reach/g)?.length ?? 0;
    return together(
      found,
      { failedSync: `1 of ${EVERY}`, waits, exits },
      {
        "the disk failed": waits + Number(found.figures["refused503"]) > 0,
        "the process continues": exits === 0,
      },
    );
  },
};
