import { monotonicMs, sleep } from "@patchbay/kit/time";
import { Gauge, type Registry } from "prom-client";
import type { Bus } from "@patchbay/engine/ports/bus";
import type { Store } from "@patchbay/engine/ports/store/stores";
import type { OpenFiles } from "./open-files.ts";

/** What a scrape reads about a replica's health. */
export interface HealthSources {
  version: string;
  database: "sqlite" | "postgres";
  store: Pick<Store, "ping" | "failedGroups"> & {
    index: Pick<Store["index"], "backlog">;
    runs: Pick<Store["runs"], "openCounts">;
  };
  bus: Pick<Bus, "healthy">;
  files: Pick<OpenFiles, "count">;
}

/** A database that takes longer counts as down: a scrape must not wait as long as statements do. */
const ANSWER_MS = 2_000;
/** Several scrapers share one database answer. */
const SHARED_MS = 5_000;
const STATES = ["queued", "running", "waiting"] as const;

/** The gauges by name, with the help text of each. */
const HELP = {
  build_info: "1, with the versions of Patchbay and Node.js and the kind of the database",
  bus_up: "1 while messages reach other replicas, else 0; 1 for a single process",
  open_fds:
    "File descriptors that this process has open, of which connections are most; absent where the platform does not report it",
  store_groups_failed:
    "Groups of rows that could not be stored in one statement, so that each row was stored by itself, since the start, by kind: `steps`, `starts` or `accepts`",
  database_up: "1 if the database answers within 2 seconds, else 0",
  database_ping_seconds: "Seconds that the database took to answer; absent while it is down",
  index_backlog:
    "Ended runs that this replica has to add to the index, by which the console filters, sorts and searches runs; at most 50,000",
  runs_open:
    "Runs of all replicas that have not ended, by state: `queued`, `running`, or `waiting` for an approval. Each replica reports all of them; absent while the database is down",
  runs_in_quarantine:
    "Runs of all replicas that were in progress at two crashes of their process, and wait to be resumed or were resumed a moment ago. Each replica reports all of them; absent while the database is down",
};

/** Makes gauges that read the sources at each scrape. */
const gaugesOf =
  (registry: Registry, sources?: HealthSources) =>
  <Label extends string>(
    name: keyof typeof HELP,
    labelNames: Label[],
    collect: (made: Gauge<Label>, from: HealthSources) => void | Promise<void>,
  ): void => {
    const made: Gauge<Label> = new Gauge({
      registers: [registry],
      name: `patchbay_${name}`,
      labelNames,
      help: HELP[name],
      async collect() {
        made.reset();
        if (sources) await collect(made, sources);
      },
    });
  };

/** Sets a gauge without labels, or removes its series if the value is undefined. */
function setOrRemove(made: Gauge<never>, value: number | undefined): void {
  if (value === undefined) made.remove();
  else made.set(value);
}

/** Adds the metrics that are read when they are scraped. Without sources they have no values. */
export function addHealthMetrics(registry: Registry, sources?: HealthSources): void {
  const gauge = gaugesOf(registry, sources);
  const asked = sources && shared(() => askDatabase(sources.store));

  gauge("build_info", ["version", "node", "database"], (made, { version, database }) =>
    made.set({ version, node: process.version, database }, 1),
  );
  gauge("bus_up", [], (made, { bus }) => made.set(Number(bus.healthy)));
  gauge("open_fds", [], async (made, { files }) => setOrRemove(made, await files.count()));
  gauge("store_groups_failed", ["kind"], (made, { store }) => {
    for (const [kind, count] of Object.entries(store.failedGroups())) made.set({ kind }, count);
  });
  gauge("database_up", [], async (made) => made.set(Number((await asked?.()) !== undefined)));
  gauge("database_ping_seconds", [], async (made) => setOrRemove(made, (await asked?.())?.seconds));
  gauge("index_backlog", [], (made, { store }) => made.set(store.index.backlog()));
  gauge("runs_open", ["state"], async (made) => {
    const answer = await asked?.();
    for (const state of STATES) if (answer) made.set({ state }, answer.runs[state]);
  });
  gauge("runs_in_quarantine", [], async (made) => setOrRemove(made, (await asked?.())?.runs.quarantined));
}

interface Answer {
  seconds: number;
  runs: Awaited<ReturnType<HealthSources["store"]["runs"]["openCounts"]>>;
}

async function askDatabase(store: HealthSources["store"]): Promise<Answer | undefined> {
  const beganAt = monotonicMs();
  async function ask(): Promise<Answer> {
    await store.ping();
    const seconds = (monotonicMs() - beganAt) / 1000;
    return { seconds, runs: await store.runs.openCounts() };
  }
  return await Promise.race([ask().catch(() => undefined), sleep(ANSWER_MS, { ref: false })]);
}

/** Calls of `work` within SHARED_MS share its result. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let last: { at: number; result: Promise<T> } | undefined;
  return () => {
    const now = monotonicMs();
    if (!last || now - last.at > SHARED_MS) last = { at: now, result: work() };
    return last.result;
  };
}
