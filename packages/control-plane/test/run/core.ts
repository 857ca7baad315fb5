import { DEFAULT_LIMITS, type OperatorLimits, type RunEvent } from "@patchbay/protocol";
import { createMemoryBus } from "../../src/bus/memory-bus.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { silentLog, type Log } from "../../src/ports/log.ts";
import { silentMetrics, type Metrics } from "../../src/ports/metrics.ts";
import type { ModelCatalog } from "../../src/ports/model-provider.ts";
import type { FunctionGateway } from "../../src/ports/function-gateway.ts";
import type { Store } from "../../src/ports/stores.ts";
import type { Caller, Query } from "../../src/run/api.ts";
import { createFeed } from "../../src/run/feed.ts";
import type { QueryLine } from "../../src/run/observer.ts";
import { createRuns } from "../../src/run/runs.ts";
import { openStore } from "../../src/store/open.ts";
import { systemClock } from "../../src/system-clock.ts";

export interface CoreOptions {
  models: ModelCatalog;
  gateway: FunctionGateway;
  /** Default: a new one in memory. A given one is left open. */
  store?: Store;
  owner?: string;
  tier?: string;
  runTimeoutMs?: number;
  limits?: Partial<OperatorLimits>;
  clock?: Clock;
  log?: Log;
  metrics?: Metrics;
}

/** The core on a real store, with a played model and a played runtime. */
export async function startCore(options: CoreOptions) {
  const { models, gateway, owner = "replica-1", tier = "sandbox", runTimeoutMs = 10_000, log = silentLog } = options;
  const store = options.store ?? (await openStore("sqlite::memory:"));
  if (!(await store.accounts.getOrg("org_1"))) {
    await store.accounts.createOrg({ orgId: "org_1", name: "Org", tier });
    await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Desk", instructions: "Be brief." });
  }
  const session = await gateway.session("agt_1", { signal: AbortSignal.timeout(10_000) });
  if (session) await store.runtimes.saveManifest("agt_1", session.manifestHash, session.manifest);
  const bus = createMemoryBus();
  const lines: QueryLine[] = [];
  const runs = createRuns(
    { owner, bus },
    {
      ...store,
      gateway,
      models,
      feed: createFeed(bus),
      clock: options.clock ?? systemClock,
      log,
      metrics: options.metrics ?? silentMetrics,
      observe: (line) => lines.push(line),
      charged: (name) => name !== "sandbox",
      runTimeoutMs,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
    },
  );
  await runs.open();
  const caller: Caller = { keyId: "key_1", agentId: "agt_1", orgId: "org_1", tier };

  async function query(text: string, more: Partial<Query> & { as?: Partial<Caller> } = {}) {
    const { as, ...rest } = more;
    const run = await runs.start({ ...caller, ...as }, { query: text, analysisMode: false, maxTokens: 8192, ...rest });
    const result = await runs.result(run, { signal: AbortSignal.timeout(15_000) });
    if (!result) throw new Error("the run did not end");
    return result;
  }
  async function events(runId: string): Promise<RunEvent[]> {
    return (await store.runs.events(runId, 0, 1_000)).map((event) => JSON.parse(event.body) as RunEvent);
  }
  return {
    runs,
    store,
    bus,
    lines,
    caller,
    query,
    events,
    async [Symbol.asyncDispose]() {
      await runs.drain(0);
      if (!options.store) await store.close();
    },
  };
}
