import { DEFAULT_LIMITS, type Manifest, type OperatorLimits, type RunEvent } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { Bus } from "../../src/ports/bus.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { type Log, type LogFields, silentLog } from "../../src/ports/log.ts";
import { silentMetrics, type Metrics } from "../../src/ports/metrics.ts";
import type { ModelCatalog } from "../../src/ports/model-provider.ts";
import type { FunctionGateway } from "../../src/ports/function-gateway.ts";
import { eachOf, type Principal, type Query, type QueryLine, type RunHandle } from "../../src/run/api.ts";
import { createRuns } from "../../src/run/runs.ts";
import { type OpenStore, openStore } from "@patchbay/store/open";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

export interface CoreOptions {
  models: ModelCatalog;
  gateway: FunctionGateway;
  /** Default: a new one in memory. A given one is left open. */
  store?: OpenStore;
  /** Default: one that no other replica joins. */
  bus?: Bus;
  owner?: string;
  tier?: string;
  runTimeoutMs?: number;
  limits?: Partial<OperatorLimits>;
  clock?: Clock;
  random?: () => number;
  log?: Log;
  metrics?: Metrics;
}

/** Far more than a run needs on a busy machine. A test of deadlines sets its own. */
const LONG_MS = 120_000;

/** Starts the run layer on a real store, with a fake model and a fake runtime. */
export async function startCore(options: CoreOptions) {
  const { models, gateway, owner = "replica-1", tier = "sandbox", runTimeoutMs = LONG_MS, log = silentLog } = options;
  const store = options.store ?? (await openStore("sqlite::memory:", { clock: systemClock }));
  if (!(await store.accounts.getOrg("org_1"))) {
    await store.accounts.createOrg({ orgId: "org_1", name: "Org", tier });
    await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Desk", instructions: "Be brief." });
  }
  const session = await gateway.session("agt_1", { signal: AbortSignal.timeout(LONG_MS) });
  if (session) await store.runtimes.saveManifest("agt_1", session.manifestHash, session.manifest);
  const bus = options.bus ?? createMemoryBus();
  const lines: QueryLine[] = [];
  const runs = createRuns(
    { owner, bus },
    {
      ...store,
      gateway,
      models,
      clock: options.clock ?? systemClock,
      log,
      metrics: options.metrics ?? silentMetrics,
      observe: (line) => lines.push(line),
      charged: (name) => name !== "sandbox",
      runTimeoutMs,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      ...present({ random: options.random }),
    },
  );
  await runs.open();
  const caller: Principal = { keyId: "key_1", agentId: "agt_1", orgId: "org_1", tier };

  /** Starts a run without waiting for its end. */
  const start = (text: string, { as, ...more }: Partial<Query> & { as?: Partial<Principal> } = {}) =>
    runs.start({ ...caller, ...as }, { query: text, analysisMode: false, maxTokens: 100, ...more });
  const result = (run: RunHandle) => runs.result(run, { signal: AbortSignal.timeout(LONG_MS) });
  const follow = (run: RunHandle) =>
    eachOf(runs.follow(run, { after: 0, deltas: true, signal: AbortSignal.timeout(LONG_MS) }));
  async function query(text: string, more: Parameters<typeof start>[1] = {}) {
    const ended = await result(await start(text, { maxTokens: 8192, ...more }));
    if (!ended) throw new Error("the run did not end");
    return ended;
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
    start,
    result,
    follow,
    query,
    events,
    async [Symbol.asyncDispose]() {
      await runs.drain(0);
      if (!options.store) await store.close();
    },
  };
}

/** Starts the run layer with a model that answers from a script and a runtime that answers every call. */
export async function startScripted(
  turns: Parameters<typeof scriptedModel>[0],
  {
    manifest = manifestOf({ open: "everyone", staff: ["agent"] }),
    answer = () => ok("done"),
    ...options
  }: Partial<CoreOptions> & { manifest?: Manifest; answer?: Parameters<typeof fakeGateway>[1] } = {},
) {
  const model = scriptedModel(turns);
  const runtime = fakeGateway(manifest, answer);
  const core = await startCore({ models: model.catalog, gateway: runtime.gateway, ...options });
  return { ...core, model, runtime };
}

/** An empty store in memory, which closes when it is disposed. */
export async function memoryStore(options: Parameters<typeof openStore>[1] = {}) {
  const store = await openStore("sqlite::memory:", { clock: systemClock, ...options });
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

/** Moves the deadline of a run into the past. A process that works on the run does not notice. */
export async function expire({ engine }: OpenStore, { runId }: RunHandle): Promise<void> {
  const past = Date.now() - 1_000;
  await engine.db.updateTable("runs").set({ deadline_at: past }).where("id", "=", runId).execute();
}

/** A log that keeps its lines. */
export function recordingLog(
  lines: { message: string; fields: LogFields | undefined }[] = [],
): Log & { lines: typeof lines } {
  const record = (message: string, fields?: LogFields) => void lines.push({ message, fields });
  return { debug: record, info: record, warn: record, error: record, child: () => recordingLog(lines), lines };
}
