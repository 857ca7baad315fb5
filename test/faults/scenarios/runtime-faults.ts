import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { holdCalls, until } from "../held-calls.ts";
import { type Scenario, together } from "./scenario.ts";
import { startLoad } from "../load.ts";
import { metricOf } from "../metrics.ts";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "../client.ts";
import { labProcess, residentKb } from "../process.ts";
import type { Tenant } from "../tenants.ts";

export const killedRuntimes: Scenario = {
  name: "killed-runtimes",
  promise: "A call whose runtime is killed ends as unknown, and is not repeated.",
  lab: { replicas: 2 },
  async run(lab, { rate }) {
    const groups = lab.tenants.map((tenant) => holdCalls(lab, tenant, { queries: Math.round(rate), calls: 1 }));
    await Promise.all(groups.map((group) => group.running()));
    const killed = lab.tenants.flatMap(({ runtimes }) => runtimes);
    await Promise.all(killed.map((runtime) => runtime.kill()));
    const killedAt = performance.now();
    const restarted = Promise.all(killed.map((runtime) => runtime.start()));
    const endings = (await Promise.all(groups.map((group) => group.endings))).flat();
    const reportedMs = performance.now() - killedAt;
    await restarted;
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 1 });
    return together(
      found,
      { kills: killed.length, reportedMs: largest([reportedMs]) },
      { "each lost call was reported as unknown": found.figures["unknown"] === endings.length },
    );
  },
};

export const redeliveredCalls: Scenario = {
  name: "redelivered-calls",
  promise: "An idempotent call goes to another runtime under its id when its runtime is killed.",
  lab: { replicas: 2 },
  async run(lab, { rate }) {
    const name = "fetch_record";
    const groups = lab.tenants.map((tenant) => holdCalls(lab, tenant, { queries: Math.round(rate), calls: 1, name }));
    await Promise.all(groups.map((group) => group.running()));
    const victims = lab.tenants.map(({ runtimes }) => runtimes[0]!);
    const lost = groups.flatMap((group) => group.begun()).filter(({ pid }) => victims.some((one) => one.pid === pid));
    await Promise.all(victims.map((runtime) => runtime.kill()));
    const again = (): number =>
      attempts(
        lab,
        lost.map(({ callId }) => callId),
      ).filter((count) => count > 1).length;
    await until(() => again() === lost.length, "each lost call runs again", 30_000 * lab.patience);
    await Promise.all(groups.map((group) => group.release()));
    const endings = (await Promise.all(groups.map((group) => group.endings))).flat();
    await Promise.all(victims.map((runtime) => runtime.start()));
    const found = await check(lab, { endings, succeeded: endings.length });
    const most = largest(
      attempts(
        lab,
        lost.map(({ callId }) => callId),
      ),
    );
    return together(
      found,
      { redelivered: lost.length, mostAttempts: most },
      {
        "calls were lost": lost.length > 0,
        "at most three attempts": most <= 3,
      },
    );
  },
};

function attempts(lab: Lab, callIds: readonly string[]): number[] {
  const begun = lab.functionNotes().filter(({ phase }) => phase === "begin");
  const byCall = Map.groupBy(begun, ({ callId }) => callId);
  return callIds.map((callId) => byCall.get(callId)?.length ?? 0);
}

const CALLS = 50;

export const drainedRuntime: Scenario = {
  name: "drained-runtime",
  promise: "A runtime stopped by SIGTERM finishes its 50 calls and accepts no other.",
  lab: { replicas: 2, tenants: 0 },
  async run(lab) {
    const tenant = await lab.addTenant({ runtimes: 1 });
    const [leaving] = tenant.runtimes;
    const held = holdCalls(lab, tenant, { queries: 5, calls: CALLS / 5 });
    await held.running();
    const staying = await tenant.connect();
    const ended = leaving!.terminate();
    await until(() => isDraining(lab, tenant), "a runtime drains", 10_000 * lab.patience);
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
        "no call was accepted while draining": taken === 0,
        "exit with 0": code === 0,
      },
    );
  },
};

/** True once a replica has stored that a runtime drains: it refuses further calls for the runtime since then. */
async function isDraining(lab: Lab, { agentId }: Tenant): Promise<boolean> {
  await using tables = await lab.tables();
  const rows = await tables.rows(
    `select 1 from runtimes where agent_id = '${agentId}' and connected = 1 and draining = 1`,
  );
  return rows.length > 0;
}

/** Restarts of runtimes, one after the other. */
const RESTARTS = 40;

export const restartedRuntimes: Scenario = {
  name: "restarted-runtimes",
  promise: "Runtimes that are restarted by SIGTERM under load leave no call with an unknown outcome.",
  lab: { replicas: 2, tenants: 1, runtimes: 3 },
  async run(lab, { rate, dice }) {
    const { runtimes } = lab.tenants[0]!;
    const load = startLoad(lab, { rate, dice, callMs: 1, thinkMs: 1 });
    const exits: (number | null)[] = [];
    for (let index = 0; index < RESTARTS; index++) {
      const runtime = runtimes[index % runtimes.length]!;
      exits.push((await runtime.terminate()).code);
      await runtime.start();
    }
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: endings.length });
    return together(found, { restarts: RESTARTS }, { "each runtime exited with 0": exits.every((code) => code === 0) });
  },
};

export const movedConnections: Scenario = {
  name: "moved-connections",
  promise: "Runtimes whose replica is killed connect to another.",
  lab: {},
  async run(lab, { rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const held = await connectionsOf(lab);
    const victim = held.indexOf(largest(held));
    const all = held.reduce((sum, links) => sum + links, 0);
    await lab.replicas[victim]!.kill();
    const killedAt = performance.now();
    const linked = async () => (await connectionsOf(lab)).reduce((sum, links) => sum + links, 0) === all;
    await until(linked, "each runtime is connected to a live replica", 60_000);
    const gapMs = performance.now() - killedAt;
    const endings = await load.stop();
    await lab.replicas[victim]!.start();
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 0.01 });
    return together(
      found,
      { links: held[victim] ?? 0, gapMs: largest([gapMs]) },
      { "the killed replica had a connection": held[victim]! > 0 },
    );
  },
};

/** The number of runtime connections of each replica. */
const connectionsOf = (lab: Lab): Promise<number[]> => metricOf(lab, "runtimes_connected");

const program = fileURLToPath(new URL("../fleet-process.ts", import.meta.url));

export const reconnectedFleet: Scenario = {
  name: "reconnected-fleet",
  promise: "Thousands of runtimes reconnect after a restart of every replica.",
  lab: {
    replicas: 2,
    tenants: 1,
    runtimes: 0,
    limits: { connectionsPerKey: 10_000, hellosPerMinute: 100_000 },
  },
  async run(lab, { rate }) {
    const tenant = lab.tenants[0]!;
    const args = [program, lab.url, tenant.agentId, String(rate)];
    const [env, logFile] = [{ PATCHBAY_RUNTIME_KEY: tenant.runtimeKey }, join(lab.folder, "logs", "fleet")];
    await using fleet = labProcess("fleet", args, { env, logFile, readyMs: 180_000 });
    await fleet.start();
    const all = async () => (await connectionsOf(lab)).reduce((sum, links) => sum + links, 0) >= rate;
    await until(all, "each runtime is connected", 60_000);
    const rssMb = Math.round(largest(lab.replicas.map(({ pid }) => residentKb(pid))) / 1_024);

    await Promise.all(lab.replicas.map((replica) => replica.kill()));
    await Promise.all(lab.replicas.map((replica) => replica.start()));
    const backAt = performance.now();
    await until(all, "each runtime is connected again", 180_000);
    const reconnectMs = largest([performance.now() - backAt]);
    const links = await connectionsOf(lab);
    const ask = createClient({ tenant, lab });
    const id = `${tenant.name}.fleet.1`;
    const ending = await ask({ plan: { id, turns: [[{ name: "charge", id: `${id}.a` }]] }, mode: "json" });
    const problem = ending.kind === "succeeded" ? [] : [`a query ${ending.kind} after the return: ${ending.code}`];
    const figures = { runtimes: rate, reconnectMs, links: links.join("+"), rssMb, queryMs: largest([ending.ms]) };
    return { figures, violations: problem };
  },
};
