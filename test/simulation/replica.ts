import { monotonicMs } from "@patchbay/kit/time";
import { type Core, createCore } from "@patchbay/control-plane/start/core";
import { startBackground } from "@patchbay/control-plane/start/background";
import { databaseClock, systemClock } from "@patchbay/control-plane/start/clocks";
import { withDefaults } from "@patchbay/control-plane/start/options";
import type { Bus } from "@patchbay/engine/ports/bus";
import type { ModelProvider } from "@patchbay/engine/ports/model-provider";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { createNetworks } from "@patchbay/server/webhooks/networks";
import { startSender } from "@patchbay/server/webhooks/sender";
import type { OpenStore } from "@patchbay/store/open";
import type { Database, KillAt, StoreFaults } from "./store.ts";
import { Process, type World } from "@patchbay/test-support/world";

/** A webhook's receiver. Returns the HTTP status. */
export type Receive = (delivery: { id: string; body: string }) => Promise<number>;

export interface ReplicaOptions {
  world: World;
  open: Database["open"];
  /** Absent for the only replica of an embedded database. */
  join: ((process: Process) => Bus) | undefined;
  model: ModelProvider;
  runTimeoutMs: number;
  receive: Receive;
  killAt: KillAt | undefined;
}

/** A control plane process without HTTP. */
export interface Replica {
  process: Process;
  faults: StoreFaults;
  /** The owner of its runs. */
  owner: string | undefined;
  /** Since when it serves, in milliseconds of the world. */
  servesSince: number;
  /** Undefined until it serves. */
  core: Core | undefined;
  /** Rejects when the process is killed. */
  gone: Promise<never>;
}

/** Thrown to a client whose replica was killed. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Starts a replica in a process of its own. */
export function startReplica(name: string, options: ReplicaOptions): Replica {
  const { world, open } = options;
  const process = new Process(name);
  // The only replica runs on the machine with the database.
  process.clock = options.join
    ? { offsetMs: world.random.between(-2_000, 2_000), rate: 1 + world.random.between(-0.000_2, 0.000_2) }
    : world.machine.clock;
  const faults: StoreFaults = {
    lostSince: 0,
    lostUntil: 0,
    losesAnswers: options.join !== undefined,
    killAt: options.killAt,
  };
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => {});
  process.onKill(() => gone.reject(new ConnectionLost("the replica was killed")));
  const replica: Replica = {
    process,
    faults,
    owner: undefined,
    servesSince: Number.POSITIVE_INFINITY,
    core: undefined,
    gone: gone.promise,
  };
  world
    .in(process, async () => serve(replica, options, await open(process, faults)))
    .catch((error: unknown) => {
      world.log(process).error("could not start", { error });
      process.kill();
    });
  return replica;
}

async function serve(
  replica: Replica,
  { world, join, model, runTimeoutMs, receive }: ReplicaOptions,
  store: OpenStore,
): Promise<void> {
  const onlyReplica = join === undefined;
  const log = world.log(replica.process);
  const settings = withDefaults({
    database: onlyReplica ? "sqlite::memory:" : "postgres://simulated",
    providers: { openai: { apiKey: "simulated", api: "responses" } },
    wrapModel: () => model,
    runTimeoutMs,
    log,
  });
  if (onlyReplica) await store.runs.releaseAll();
  await store.runtimes.recordServed({ begins: onlyReplica });
  const clock = onlyReplica ? systemClock : await databaseClock(() => store.now(), log);
  const bus = join?.(replica.process) ?? createMemoryBus();
  const files = { short: false, connections: undefined, count: async () => undefined, [Symbol.dispose]() {} };
  const resources = { store, bus, clock, files, onlyReplica, async [Symbol.asyncDispose]() {} };
  const core = createCore(settings, resources, { ofProcess: false });
  replica.owner = core.replicaId;
  await core.runs.open();
  startSender({
    webhooks: store.webhooks,
    networks: createNetworks([]),
    baseUrl: "https://simulated.test",
    clock,
    log,
    metrics: core.metrics,
    async send(_url, { headers, body, signal }) {
      const begins = monotonicMs();
      const status = await receive({ id: headers["X-Patchbay-Delivery"] ?? "", body });
      signal.throwIfAborted();
      return monotonicMs() - begins > 5_000 ? 504 : status;
    },
  });
  startBackground(store, settings.retention, { clock, log });
  replica.servesSince = world.now;
  replica.core = core;
}
