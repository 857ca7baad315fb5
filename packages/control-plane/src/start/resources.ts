import { hasTraceProvider } from "@patchbay/protocol";
import { type Log, present } from "@patchbay/kit";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { Bus } from "@patchbay/engine/ports/bus";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Tracing } from "@patchbay/engine/ports/tracing";
import { lockStore, type OpenStore, openStore } from "@patchbay/store/open";
import type { TracingOptions } from "@patchbay/engine/tracing/tracing";
import { databaseClock, systemClock } from "./clocks.ts";
import { type OpenFiles, watchOpenFiles } from "./open-files.ts";
import { type FirstStart, setUpAtFirstStart } from "./first-start.ts";

/** What one replica opens or loads. Disposing closes it. */
export interface Resources extends AsyncDisposable {
  store: OpenStore;
  bus: Bus;
  clock: Clock;
  files: OpenFiles;
  /** True when no other replica can serve this store. An earlier process's open runs are then free to be claimed. */
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
  const files = opening.use(watchOpenFiles({ log }));
  opening.use(await lockStore(database));
  const store = await openStore(database, { log });
  opening.defer(() => store.close());
  if (firstStart) await setUpAtFirstStart(store, firstStart);
  const onlyReplica = database.startsWith("sqlite:");
  // The lock proves that every leaseholder is gone. Otherwise a crashed process's runs would wait for their leases.
  if (onlyReplica) await store.runs.releaseAll();
  // Before the first query: a runtime's age excludes time in which no replica served.
  await store.runtimes.recordServed({ begins: nats === undefined });
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
    files,
    onlyReplica,
    ...present({ tracing }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/**
 * This process's tracing. Undefined without a registered trace provider: the API is then not even loaded, which would
 * add tens of milliseconds to a cold start.
 */
async function loadTracing(options: TracingOptions): Promise<Tracing | undefined> {
  if (!hasTraceProvider()) return undefined;
  const { createTracing } = await import("@patchbay/engine/tracing/tracing");
  return createTracing(options);
}

/** Loads the NATS client only when it is used: it costs time and memory at the start. */
async function natsBus(urls: string, log: Log): Promise<Bus> {
  const { createNatsBus } = await import("@patchbay/gateway/bus/nats-bus");
  return createNatsBus(urls, { log });
}
