import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics, MetricsPage } from "./ports/metrics.ts";

/** From a cached answer to the longest read time that proxies are asked to allow. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 240, 300];

/** Figures for Prometheus, in a registry of their own: several services in one process do not share counts. */
export function createMetrics(): Metrics & MetricsPage {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const queries = new Counter({
    name: "patchbay_queries_total",
    help: "Requests of the query endpoints, by what was answered",
    labelNames: ["endpoint", "outcome"],
    registers,
  });
  const runs = new Counter({
    name: "patchbay_runs_total",
    help: "Ended runs, by outcome",
    labelNames: ["outcome"],
    registers,
  });
  const durations = new Histogram({
    name: "patchbay_query_duration_seconds",
    help: "Time from a query's acceptance to its last event",
    buckets: SECONDS,
    registers,
  });
  const calls = new Counter({
    name: "patchbay_function_calls_total",
    help: "Function calls, by outcome",
    labelNames: ["outcome"],
    registers,
  });
  const disagreements = new Counter({
    name: "patchbay_access_disagreements_total",
    help: "Calls that the control plane let through and a runtime refused by its roles",
    registers,
  });
  const widenings = new Counter({
    name: "patchbay_access_widened_total",
    help: "Function sets that allow more than the set they replace",
    registers,
  });
  const turns = new Counter({
    name: "patchbay_model_turns_total",
    help: "Attempts at model turns, by outcome",
    labelNames: ["provider", "outcome"],
    registers,
  });
  const tokens = new Counter({
    name: "patchbay_tokens_total",
    help: "Tokens billed by providers; input includes cached_input and cache_write_input",
    labelNames: ["provider", "kind"],
    registers,
  });
  const streams = new Gauge({ name: "patchbay_streams_open", help: "Open event streams", registers });
  const streamsRefused = new Counter({
    name: "patchbay_streams_refused_total",
    help: "Event streams refused by a limit, by the limit's name",
    labelNames: ["limit"],
    registers,
  });
  const streamsWaiting = new Gauge({
    name: "patchbay_streams_waiting",
    help: "Queries that wait for a place among the open event streams",
    registers,
  });
  const runtimes = new Gauge({ name: "patchbay_runtimes_connected", help: "Connected runtimes", registers });
  const refusals = new Counter({
    name: "patchbay_runtimes_refused_total",
    help: "Connections of runtimes that were refused or closed, by the limit or the fault",
    labelNames: ["reason"],
    registers,
  });
  const droppedFrames = new Counter({
    name: "patchbay_runtime_frames_dropped_total",
    help: "Frames of runtimes beyond the limit of their connection",
    registers,
  });

  return {
    runEnded(outcome, durationMs) {
      runs.inc({ outcome });
      durations.observe(durationMs / 1000);
    },
    callEnded: (outcome) => calls.inc({ outcome }),
    accessDisagreed: () => disagreements.inc(),
    accessWidened: () => widenings.inc(),
    modelTurn: (provider, outcome) => turns.inc({ provider, outcome }),
    tokensUsed(provider, { input, cachedInput, cacheWriteInput = 0, output }) {
      tokens.inc({ provider, kind: "input" }, input);
      tokens.inc({ provider, kind: "cached_input" }, cachedInput);
      tokens.inc({ provider, kind: "cache_write_input" }, cacheWriteInput);
      tokens.inc({ provider, kind: "output" }, output);
    },
    runtimeConnected: () => runtimes.inc(),
    runtimeDisconnected: () => runtimes.dec(),
    runtimeRefused: (reason) => refusals.inc({ reason }),
    frameDropped: () => droppedFrames.inc(),
    queryAnswered: (endpoint, outcome) => queries.inc({ endpoint, outcome }),
    streamOpened: () => counted(streams),
    streamRefused: (limit) => streamsRefused.inc({ limit }),
    streamWaiting: () => counted(streamsWaiting),
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

/** Counts one more until disposed. */
function counted(gauge: Gauge): Disposable {
  gauge.inc();
  return { [Symbol.dispose]: () => gauge.dec() };
}
