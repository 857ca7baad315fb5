import { setTimeout as wait } from "node:timers/promises";
import { Gauge, type Registry } from "prom-client";
import type { Bus } from "../ports/bus.ts";
import type { Store } from "../ports/stores.ts";

/** What a scrape asks for the health of a replica. */
export interface HealthSources {
  version: string;
  database: "sqlite" | "postgres";
  store: Pick<Store, "ping"> & { runs: Pick<Store["runs"], "openCounts"> };
  bus: Pick<Bus, "healthy">;
}

/** A database that takes longer counts as down: a scrape must not wait as long as statements do. */
const ANSWER_MS = 2_000;
/** Several scrapers share one answer of the database. */
const SHARED_MS = 5_000;
const STATES = ["queued", "running", "waiting"] as const;

/** Adds the metrics that are read when they are scraped. Without sources they have no values. */
export function addHealthMetrics(registry: Registry, sources?: HealthSources): void {
  const gauge = <Label extends string>(
    name: string,
    labelNames: Label[],
    help: string,
    collect: (made: Gauge<Label>, from: HealthSources) => void | Promise<void>,
  ): void => {
    const made: Gauge<Label> = new Gauge({
      registers: [registry],
      name: `patchbay_${name}`,
      labelNames,
      help,
      async collect() {
        made.reset();
        if (sources) await collect(made, sources);
      },
    });
  };
  const asked = sources && shared(() => askDatabase(sources.store));

  gauge(
    "build_info",
    ["version", "node", "database"],
    "1, with the versions of Patchbay and Node.js and the kind of the database",
    (made, { version, database }) => made.set({ version, node: process.version, database }, 1),
  );
  gauge("bus_up", [], "1 while messages reach other replicas, else 0; 1 for a single process", (made, { bus }) =>
    made.set(bus.healthy ? 1 : 0),
  );
  gauge("database_up", [], "1 if the database answers within 2 seconds, else 0", async (made) => {
    made.set((await asked?.()) === undefined ? 0 : 1);
  });
  gauge(
    "database_ping_seconds",
    [],
    "Seconds that the database took to answer; absent while it is down",
    async (made) => {
      const answer = await asked?.();
      if (answer) made.set(answer.seconds);
      else made.remove();
    },
  );
  gauge(
    "runs_open",
    ["state"],
    "Runs of all replicas that have not ended, by state: `queued`, `running`, or `waiting` for an approval. Each replica reports all of them; absent while the database is down",
    async (made) => {
      const answer = await asked?.();
      for (const state of STATES) if (answer) made.set({ state }, answer.runs[state]);
    },
  );
}

interface Answer {
  seconds: number;
  runs: Awaited<ReturnType<HealthSources["store"]["runs"]["openCounts"]>>;
}

async function askDatabase(store: HealthSources["store"]): Promise<Answer | undefined> {
  const beganAt = performance.now();
  async function ask(): Promise<Answer> {
    await store.ping();
    const seconds = (performance.now() - beganAt) / 1000;
    return { seconds, runs: await store.runs.openCounts() };
  }
  return await Promise.race([ask().catch(() => undefined), wait(ANSWER_MS, undefined, { ref: false })]);
}

/** Calls of `work` within SHARED_MS share its result. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let last: { at: number; result: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (!last || now - last.at > SHARED_MS) last = { at: now, result: work() };
    return last.result;
  };
}
