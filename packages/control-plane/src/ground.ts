import { createMemoryBus } from "./bus/memory-bus.ts";
import { databaseClock } from "./database-clock.ts";
import type { Bus } from "./ports/bus.ts";
import type { Clock } from "./ports/clock.ts";
import type { Log } from "./ports/log.ts";
import type { Store } from "./ports/stores.ts";
import { lockStore, openStore } from "./store/open.ts";
import { systemClock } from "./system-clock.ts";

/** What one replica stands on. Disposing closes it. */
export interface Ground extends AsyncDisposable {
  store: Store;
  bus: Bus;
  clock: Clock;
  /** True where this process alone serves the store: it then takes up at once whatever an earlier one left. */
  alone: boolean;
}

/** Opens the store and what connects replicas on it. Throws when an embedded database is in use, or the store cannot be opened. */
export async function openGround({
  database,
  nats,
  log,
}: {
  database: string;
  nats: string | undefined;
  log: Log;
}): Promise<Ground> {
  await using opening = new AsyncDisposableStack();
  opening.use(await lockStore(database));
  const store = await openStore(database, { log });
  opening.defer(() => store.close());
  const alone = database.startsWith("sqlite:");
  if (alone) await store.runs.releaseAll();
  // Replicas agree on the time by asking their database; one alone is on the machine that keeps its database.
  const clock = alone ? systemClock : opening.use(await databaseClock(() => store.now(), log));
  const bus = nats === undefined ? createMemoryBus({ log }) : await natsBus(nats, log);
  opening.defer(() => bus.close());
  const opened = opening.move();
  return { store, bus, clock, alone, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Loaded when it is asked for: a replica by itself has no use for it. */
async function natsBus(urls: string, log: Log): Promise<Bus> {
  const { createNatsBus } = await import("./bus/nats-bus.ts");
  return createNatsBus(urls, { log });
}
