import { present } from "@patchbay/protocol";
import { createMemoryBus } from "../bus/memory-bus.ts";
import type { Bus } from "../ports/bus.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Tracing } from "../ports/tracing.ts";
import { lockStore, type OpenStore, openStore } from "../store/open.ts";
import { loadTracing } from "../tracing/load.ts";
import type { TracingOptions } from "../tracing/tracing.ts";
import { databaseClock, systemClock } from "./clocks.ts";
import { type FirstStart, setUpAtFirstStart } from "./first-start.ts";

/** What one replica opens or loads. Disposing closes it. */
export interface Resources extends AsyncDisposable {
  store: OpenStore;
  bus: Bus;
  clock: Clock;
  /** True when no other replica can serve this store. Open runs of an earlier process are then free to be claimed. */
  onlyReplica: boolean;
  tracing?: Tracing;
}

interface Opening {
  database: string;
  nats?: string | undefined;
  firstStart?: FirstStart;
  log: Log;
  tracing: TracingOptions;
}

/** Throws when another process serves an embedded database, or when the store cannot be opened. */
export async function openResources({ database, nats, firstStart, log, ...options }: Opening): Promise<Resources> {
  await using opening = new AsyncDisposableStack();
  opening.use(await lockStore(database));
  const store = await openStore(database, { log });
  opening.defer(() => store.close());
  if (firstStart) await setUpAtFirstStart(store, firstStart);
  const onlyReplica = database.startsWith("sqlite:");
  // The lock proves that every leaseholder is gone. Without this the runs of a crashed process would wait for their leases.
  if (onlyReplica) await store.runs.releaseAll();
  // Replicas must agree on deadlines and leases although their machines' clocks differ, so they follow the database's clock.
  const clock = onlyReplica ? systemClock : opening.use(await databaseClock(() => store.now(), log));
  const bus = nats === undefined ? createMemoryBus({ log }) : await natsBus(nats, log);
  opening.defer(() => bus.close());
  const tracing = await loadTracing(options.tracing);
  const opened = opening.move();
  return {
    store,
    bus,
    clock,
    onlyReplica,
    ...present({ tracing }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Loads the NATS client only when it is used: it costs time and memory at the start. */
async function natsBus(urls: string, log: Log): Promise<Bus> {
  const { createNatsBus } = await import("../bus/nats-bus.ts");
  return createNatsBus(urls, { log });
}
