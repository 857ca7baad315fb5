import { type Cluster, startCluster } from "./cluster.ts";
import { GRACE_MS, violationsOf } from "./invariants.ts";
import { type Plan, planOf } from "./plan.ts";
import { retentionViolations } from "./retention.ts";
import { DETACHED } from "./service.ts";
import { type Database, openSqlite } from "./store.ts";
import { createWatch } from "./watch.ts";
import { World } from "@patchbay/test-support/world";

export interface Simulated {
  seed: number;
  violations: string[];
  /** Equal for two runs of a seed. */
  hash: string;
  trace: readonly string[];
  /** Milliseconds of simulated time. */
  simulatedMs: number;
  steps: number;
  runs: number;
  calls: number;
  faults: Record<string, number>;
  /** How runs ended, by status or error code. */
  ends: Record<string, number>;
  /** How detached calls ended, by function and code. */
  detached: Record<string, number>;
}

export interface SimulateOptions {
  traced?: boolean;
  plan?: Plan;
  /** Opens the empty database. */
  open?: (world: World) => Promise<Database>;
}

/** After this time no fault begins, and all ended. */
const CALM_AT_MS = 30_000;
const LOOK_MS = 500;
/** For handlers that run on after their call, and a reconnect. */
const STOP_MS = 45_000;

/** Runs one seed to the end of all its work, and checks the invariants. */
export async function simulate(
  seed: number,
  { traced = false, plan = planOf(seed), open = openSqlite }: SimulateOptions = {},
): Promise<Simulated> {
  const world = new World(seed, { traced });
  using _ = world.install();
  let database: Database | undefined;
  void open(world).then((opened) => (database = opened));
  await world.run(() => database !== undefined);
  let cluster: Cluster | undefined;
  world.in(world.machine, () => void startCluster(world, database!, plan).then((started) => (cluster = started)));
  await world.run(() => cluster !== undefined);
  const started = cluster!;
  let isOver = false;
  const watch = createWatch(started);
  const calmAt = Math.max(CALM_AT_MS, ...plan.faults.map(({ at }) => at + 1));
  const limitMs = calmAt + 2 * plan.runTimeoutMs + 3_600_000;
  world.in(world.machine, () => {
    world.after(calmAt, world.machine, () => (started.calm = true));
    const look = (): void => {
      void Promise.all([watch.look(), isSettled(started)]).then(([open, settled]) => {
        isOver = (open === 0 && settled) || watch.violations.length > 0;
        if (!isOver) world.after(LOOK_MS, world.machine, look);
      });
    };
    look();
  });
  const ended = await world.run(() => isOver, limitMs);
  const { hash, now: simulatedMs, steps } = world;
  const violations = [...watch.violations];
  if (violations.length === 0) {
    const isLost = started.faults["replica store lost"] ?? started.faults["store lost"];
    if (ended && isLost === undefined) violations.push(...(await stopRuntimes(started)));
    if (!ended) violations.push("the work did not end in time");
  }
  const result = world.in(world.machine, () => summary(started, violations));
  let found: Awaited<typeof result> | undefined;
  void result.then((value) => (found = value));
  await world.run(() => found !== undefined);
  await endProcesses(started);
  await database!.close();
  return { seed, hash, trace: world.trace, simulatedMs, steps, faults: started.faults, ...found! };
}

/** Whether clients and webhooks have everything. */
async function isSettled({ clients, store, calm }: Cluster): Promise<boolean> {
  if (!calm || clients.some(({ done }) => !done)) return false;
  const pending = store.engine.db
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("status", "=", "pending")
    .limit(1);
  return (await pending.execute()).length === 0;
}

/** Stops the runtimes in order: each ends its handlers, and waits until its results are acknowledged. */
async function stopRuntimes({ world, runtimes }: Cluster): Promise<string[]> {
  const running = new Set(runtimes.filter(({ process }) => process.alive));
  for (const one of running) world.in(one.process, () => void one.stop().then(() => running.delete(one)));
  await world.run(() => running.size === 0, world.now + STOP_MS);
  return [...running].map(({ process }) => `${process.name}: has not stopped after ${STOP_MS} ms`);
}

/** Further violations would follow from those that a watch has found, and ended the simulation early. */
async function summary(cluster: Cluster, found: readonly string[]) {
  const violations = found.length > 0 ? [...found] : await violationsOf(cluster);
  const { db } = cluster.store.engine;
  const runs = await db.selectFrom("runs").select(["status", "ending", "deadline_at", "finished_at", "id"]).execute();
  const calls = await db.selectFrom("calls").select(["function_name", "outcome"]).execute();
  const ends: Record<string, number> = {};
  for (const { status, ending } of runs) {
    const code = ending && (JSON.parse(ending) as { code?: string }).code;
    ends[code ?? status] = (ends[code ?? status] ?? 0) + 1;
  }
  // The only replica's clock is the database's: its steps move deadlines.
  const steps = cluster.plan.replicas === 1 && cluster.database.isEmbedded && cluster.faults["replica clock step"];
  for (const { id, deadline_at: deadline, finished_at: finished } of runs)
    if (!steps && finished !== null && deadline !== null && finished > deadline + GRACE_MS)
      violations.push(`${id}: ended ${finished - deadline} ms after its deadline`);
  // With a clock that was set back, entries are newer than the seals.
  if (violations.length === 0 && cluster.steppedAt === 0) violations.push(...(await retentionViolations(cluster)));
  const detached: Record<string, number> = {};
  for (const { function_name: name, outcome } of calls.filter((call) => DETACHED.includes(call.function_name))) {
    const { ok, code } = JSON.parse(outcome ?? "{}") as { ok?: boolean; code?: string };
    const end = `${name} ${ok ? "succeeded" : code}`;
    detached[end] = (detached[end] ?? 0) + 1;
  }
  return { violations, runs: runs.length, calls: calls.length, ends, detached };
}

/** Ends everything, so that the next simulation in this thread begins with nothing. */
async function endProcesses(cluster: Cluster): Promise<void> {
  const { world, replicas } = cluster;
  cluster.isOver = true;
  world.in(world.machine, () => {
    for (const { process } of replicas) process.kill();
  });
  await world.run(() => false, world.now + 100);
}
