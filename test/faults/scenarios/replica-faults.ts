import { check } from "../checker.ts";
import { startLoad } from "../load.ts";
import { killReplica, injectFaults } from "../fault-injection.ts";
import { type Scenario, together } from "./scenario.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { largest } from "../figures.ts";
import { holdCalls } from "../held-calls.ts";

export const killedReplicas: Scenario = {
  name: "killed-replicas",
  promise: "Replicas killed one after another lose no acknowledged event and no run, and run no call twice.",
  lab: {},
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice, thinkMs: 500 });
    // A kill every 20 s, including the next start; a short run has two.
    const everyMs = Math.min(16_000, 400 * seconds);
    const pauseMs = [0.8 * everyMs, everyMs] as const;
    const kills = await injectFaults(lab, [killReplica], { seconds, dice, pauseMs });
    const endings = await load.stop();
    const found = await check(lab, {
      endings,
      succeeded: 0.95 * endings.length,
      unknownShare: 0.01,
      failedShare: 0.01,
    });
    await using tables = await lab.tables();
    const [row] = await tables.rows<{ count: number }>(
      "select count(*) as count from audit where action = 'run.resumed'",
    );
    return together(
      found,
      { kills, resumedRuns: row?.count ?? 0 },
      {
        "a replica was killed": kills > 0,
        "a run was taken over": (row?.count ?? 0) > 0,
      },
    );
  },
};

const LEASE_MS = 15_000;
/** On a slow machine too, clients repeat queries at other replicas while one is frozen. */
const HEADERS_MS = 10_000;

export const pausedReplica: Scenario = {
  name: "paused-replica",
  promise: "A replica frozen for two leases loses its runs to others, and duplicates nothing when it resumes.",
  lab: {},
  async run(lab, { rate, dice }) {
    // Slow turns and calls, so that the replica is frozen during many of them.
    const load = startLoad(lab, { rate, dice, thinkMs: 300, callMs: 300, headersMs: HEADERS_MS });
    await sleep(3_000);
    const replica = dice.pick(lab.replicas);
    replica.pause();
    await sleep(2 * LEASE_MS);
    replica.resume();
    await sleep(3_000);
    const endings = await load.stop();
    // An agent whose runtimes were all connected to it has none until they notice: its queries fail with that reason.
    const mayFail = ["agent_session_not_found"];
    const terms = { endings, succeeded: 0.5 * endings.length, mayFail, failedShare: 0.5, unknownShare: 0.01 };
    const found = await check(lab, terms);
    await using tables = await lab.tables();
    const [row] = await tables.rows<{ count: number }>(
      "select count(*) as count from audit where action = 'run.resumed'",
    );
    const takenOver = row?.count ?? 0;
    const leasesLost = replica.log().match(/lease|fence/gi)?.length ?? 0;
    return together(
      found,
      { takenOver, leasesLost, exits: replica.exits },
      {
        "runs of the frozen replica were taken over": takenOver > 0,
        "the frozen replica detected its lost leases": leasesLost > 0,
        "the frozen replica continues": replica.alive && replica.exits === 0,
      },
    );
  },
};

export const rollingRestart: Scenario = {
  name: "rolling-restart",
  promise: "Replicas restarted one after another by SIGTERM under load fail no query.",
  lab: {},
  async run(lab, { rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const exits: { code: number | null; ms: number }[] = [];
    for (const replica of lab.replicas) {
      await sleep(2_000);
      exits.push(await replica.terminate());
      await replica.start();
    }
    await sleep(2_000);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: endings.length });
    const slowestExitMs = largest(exits.map(({ ms }) => ms));
    return together(
      found,
      { restarts: exits.length, slowestExitMs },
      { "each replica exited with 0": exits.every(({ code }) => code === 0) },
    );
  },
};

const OFFSETS = ["+3h", "-3h"];
/** The command `faketime` does not pass signals to the process that it starts, so its library is loaded without it. */
const FAKE_TIME = "LD_PRELOAD=/usr/$LIB/faketime/libfaketimeMT.so.1";

export const wrongClocks: Scenario = {
  name: "wrong-clocks",
  promise: "Replicas whose clocks are hours apart take no lease from each other.",
  lab: {
    needs: "faketime",
    under: (index) => (OFFSETS[index] ? ["env", FAKE_TIME, `FAKETIME=${OFFSETS[index]}`] : []),
  },
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

const CALLS = 10;

export const adoptedCalls: Scenario = {
  name: "adopted-calls",
  promise: "Running calls of a killed replica are adopted by another one, and run once.",
  lab: { tenants: 0 },
  async run(lab, { rate }) {
    const queries = Math.max(1, Math.round(rate));
    const tenants = await Promise.all([0, 1].map(() => lab.addTenant({ concurrency: 256 })));
    const groups = tenants.map((tenant) => holdCalls(lab, tenant, { queries, calls: CALLS, replica: 0 }));
    await Promise.all(groups.map((group) => group.running()));
    await lab.replicas[0]!.kill();
    const killedAt = performance.now();
    // Longer than the lease: the calls still run when another replica has their runs.
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
