import { connectOver } from "@patchbay/runtime/connection/connect";
import type { OpenStore } from "@patchbay/store/open";
import { createSimulatedBus } from "./bus.ts";
import {
  AGENT,
  type ClientDeps,
  type ClientRecord,
  type DecisionRecord,
  KEYS,
  ROLES,
  startApprover,
  startClient,
} from "./clients.ts";
import { type Asked, createModel, type ProviderWeather } from "./model.ts";
import { createNetwork } from "@patchbay/test-support/network";
import type { Plan } from "./plan.ts";
import { type Replica, startReplica } from "./replica.ts";
import { createService, type Effects } from "./service.ts";
import type { Database } from "./store.ts";
import { Process, type World } from "@patchbay/test-support/world";

/** Everything that a simulation knows in addition to the store. */
export interface Cluster {
  world: World;
  database: Database;
  store: OpenStore;
  plan: Plan;
  effects: Effects;
  clients: ClientRecord[];
  decisions: DecisionRecord[];
  /** Requests to the provider. */
  asked: Asked[];
  /** Bodies of the deliveries that the webhook's receiver accepted, by id. */
  delivered: Map<string, string>;
  /** When each delivery was sent, by id. */
  sent: Map<string, number[]>;
  runtimes: { process: Process; stop(): Promise<void> }[];
  /** When a look found that a run has been claimed. */
  claims: { runId: string; at: number }[];
  /** When each killed process died: a replica by the owner of its runs, a runtime by its name. */
  deaths: Map<string, number>;
  /** When the clock of the machine with the database was set. */
  steppedAt: number;
  /** The longest time in which a replica that lived did not reach the store. */
  longestLossMs: number;
  /** Writes fail until this time. */
  diskFullUntil: number;
  /** How often each kind of fault happened. */
  faults: Record<string, number>;
  replicas: Replica[];
  /** Ends every fault. */
  calm: boolean;
  /** Killed processes do not come back. */
  isOver: boolean;
}

const ORG = { orgId: AGENT.orgId, name: "Shop", tier: "scale" };
const CREDIT_MICROS = 50_000_000;

/** Organisation, agent, keys, credit and a webhook. */
export async function setUp({ accounts, webhooks }: OpenStore): Promise<void> {
  await accounts.createOrg(ORG);
  await accounts.createAgent({ ...AGENT, name: "Shop", instructions: "Be brief." });
  for (const [name, credentialId] of Object.entries(KEYS))
    await accounts.createCredential({
      credentialId,
      kind: "api",
      agentId: AGENT.agentId,
      hash: name.padEnd(64, "0"),
      hint: name,
      ...(name === "approver" ? { roles: ROLES, can: ["approve"] } : { roles: [name] }),
    });
  await accounts.createCredential({
    credentialId: "key_runtime",
    kind: "runtime",
    agentId: AGENT.agentId,
    hash: "runtime".padEnd(64, "0"),
    hint: "runtime",
  });
  await accounts.grant(AGENT.orgId, CREDIT_MICROS);
  await webhooks.set({ ...AGENT, url: "https://receiver.test/", secret: "whsec_simulated" });
}

/** Starts replicas, runtimes, clients and an approver, and keeps killed processes coming back. */
export async function startCluster(world: World, database: Database, plan: Plan): Promise<Cluster> {
  const { store } = database;
  await setUp(store);
  const { random } = world;
  const effects: Effects = { executions: [], mostLimited: 0, killNext: undefined };
  const asked: Asked[] = [];
  const weather: ProviderWeather = { awayUntil: 0, trouble: plan.providerTrouble };
  const bus = createSimulatedBus(world, plan.bus);
  const model = createModel(world, { plan, weather, asked });
  const delivered = new Map<string, string>();
  const replicas: Replica[] = [];
  const faults: Record<string, number> = {};
  const serving = (): Replica[] => replicas.filter(({ process, core }) => process.alive && core);
  async function isStored(runId: string, seq: number): Promise<boolean> {
    const event = store.engine.db.selectFrom("run_events").select("seq").where("run_id", "=", runId);
    return (await world.in(world.machine, () => event.where("seq", "=", seq).executeTakeFirst())) !== undefined;
  }
  const clientDeps: ClientDeps = { world, serving, random, isStored: database.isEmbedded ? isStored : undefined };
  const cluster: Cluster = {
    world,
    database,
    store,
    plan,
    effects,
    clients: [],
    decisions: [],
    asked,
    delivered,
    sent: new Map(),
    runtimes: [],
    claims: [],
    deaths: new Map(),
    steppedAt: 0,
    longestLossMs: 0,
    diskFullUntil: 0,
    faults,
    replicas,
    calm: false,
    isOver: false,
  };

  async function receive({ id, body }: { id: string; body: string }): Promise<number> {
    cluster.sent.set(id, [...(cluster.sent.get(id) ?? []), world.now]);
    await world.pass(random.between(1, 200));
    if (!cluster.calm && random.chance(0.1)) return 503;
    const before = delivered.get(id);
    if (before !== undefined && before !== body) count("delivery with two bodies");
    if (!cluster.calm && random.chance(0.05)) return 500;
    delivered.set(id, body);
    return 200;
  }

  function count(fault: string): void {
    faults[fault] = (faults[fault] ?? 0) + 1;
  }

  function runReplica(index: number, generation: number): void {
    const replica = startReplica(`replica-${index}.${generation}`, {
      world,
      open: database.open,
      join: plan.replicas > 1 || !database.isEmbedded ? bus.join : undefined,
      model,
      runTimeoutMs: plan.runTimeoutMs,
      receive,
      killAt: generation === 0 ? plan.killAt[index] : undefined,
    });
    replicas[index] = replica;
    replica.process.onKill(() => {
      if (replica.owner !== undefined) cluster.deaths.set(replica.owner, world.now);
      if (cluster.isOver) return;
      count("replica killed");
      world.note("killed", replica.process);
      world.after(random.between(200, 6_000), world.machine, () => runReplica(index, generation + 1));
    });
  }

  const network = createNetwork(world, () => {
    const open = serving();
    if (open.length === 0) return undefined;
    const { process, core } = random.pick(open);
    return {
      process,
      accept: (socket, transport) => core!.gateway.accept(socket, transport, { keyId: "key_runtime", ...AGENT }),
    };
  });

  function runRuntime(index: number, generation: number): void {
    const process = new Process(`runtime-${index}.${generation}`);
    // The older release is deployed first.
    const older = plan.olderSets && (generation === 0 ? index === 0 : random.chance(0.3));
    process.onKill(() => {
      cluster.deaths.set(process.name, world.now);
      if (cluster.isOver) return;
      count("runtime killed");
      world.note("killed", process);
      world.after(random.between(100, 8_000), world.machine, () => runRuntime(index, generation + 1));
    });
    world.in(process, () => {
      const options = { url: "ws://simulated", key: "rk_simulated", concurrency: 4, log: world.log(process) };
      const deployment = { deployment: older ? "release-1" : "release-2" };
      const runtime = connectOver(network.openSocket, createService(world, effects, { older }), {
        ...options,
        ...deployment,
      });
      cluster.runtimes[index] = { process, stop: () => runtime.stop({ drainMs: 120_000 }) };
      runtime.ended.catch(() => process.kill());
    });
  }

  for (let i = 0; i < plan.replicas; i++) runReplica(i, 0);
  for (let i = 0; i < plan.runtimes; i++)
    world.after(plan.olderSets && i > 0 ? 500 : 0, world.machine, () => runRuntime(i, 0));
  for (let i = 0; i < plan.queries; i++) cluster.clients.push(startClient(i, clientDeps));
  cluster.decisions = startApprover(clientDeps);
  const parts = { network, bus, weather, serving };
  for (const { at, kind, ms } of plan.faults)
    world.after(at, world.machine, () => {
      if (!cluster.calm && applyFault(kind, ms, { cluster, ...parts })) count(kind);
    });
  return cluster;
}

interface Parts {
  cluster: Cluster;
  network: ReturnType<typeof createNetwork>;
  bus: ReturnType<typeof createSimulatedBus>;
  weather: ProviderWeather;
  serving: () => Replica[];
}

/** Returns whether the fault found something to break. */
function applyFault(kind: Plan["faults"][number]["kind"], ms: number, parts: Parts): boolean {
  const { cluster, network, bus, weather, serving } = parts;
  const { world, effects, runtimes } = cluster;
  const { random } = world;
  const replicas = serving();
  if (kind.startsWith("replica") && replicas.length === 0) return false;
  switch (kind) {
    case "replica killed":
      random.pick(replicas).process.kill();
      // Counted where it happens.
      return false;
    case "replica frozen": {
      const { process } = random.pick(replicas);
      process.freeze(world.now + ms);
      return true;
    }
    case "replica clock step":
      {
        const { clock } = random.pick(replicas).process;
        clock.offsetMs += random.between(-300_000, 300_000);
        if (clock === world.machine.clock) cluster.steppedAt = world.now;
      }
      return true;
    case "replica store lost":
      lose(random.pick(replicas), cluster, ms);
      return true;
    case "store lost":
      for (const replica of replicas) lose(replica, cluster, ms);
      return replicas.length > 0;
    case "disk full":
      return breakDatabase(cluster, ms);
    case "runtime killed in a call":
      effects.killNext = random.pick(["before", "in", "after"]);
      return true;
    case "runtime killed":
      random.pick(runtimes).process.kill();
      return false;
    case "runtime frozen":
      random.pick(runtimes).process.freeze(world.now + ms);
      return true;
    case "connection cut":
      return network.cut(random);
    case "provider away":
      weather.awayUntil = world.now + ms;
      return true;
    case "partition":
      if (cluster.plan.replicas === 1) return false;
      bus.partition(ms);
      return true;
  }
}

function lose({ faults }: Replica, cluster: Cluster, ms: number): void {
  const { now } = cluster.world;
  if (faults.lostUntil < now) faults.lostSince = now;
  faults.lostUntil = Math.max(faults.lostUntil, now + ms);
  cluster.longestLossMs = Math.max(cluster.longestLossMs, faults.lostUntil - faults.lostSince);
  faults.lost?.();
}

/** A server's disk does not fill up. */
function breakDatabase(cluster: Cluster, ms: number): boolean {
  const { world, database, faults } = cluster;
  const { fillDisk, breakConnections } = database;
  cluster.diskFullUntil = Math.max(cluster.diskFullUntil, world.now + ms);
  void fillDisk?.(true);
  breakConnections?.(true);
  world.after(ms, world.machine, () => {
    void fillDisk?.(false);
    breakConnections?.(false);
  });
  if (breakConnections) faults["connections broken"] = (faults["connections broken"] ?? 0) + 1;
  return fillDisk !== undefined;
}
