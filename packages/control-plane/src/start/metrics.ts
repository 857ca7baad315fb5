import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics, MetricsPage } from "../ports/metrics.ts";

/** Buckets from a cached answer to the longest read timeout that the docs ask proxies to allow. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 240, 300];

type Registers = { registers: Registry[] };

/** Prometheus metrics in their own registry, so that several control planes in one process do not share counts. */
export function createMetrics(registry = new Registry()): Metrics & MetricsPage {
  collectDefaultMetrics({ register: registry });
  const all = { registers: [registry] };
  return {
    ...runMetrics(all),
    ...accessMetrics(all),
    ...streamMetrics(all),
    ...runtimeMetrics(all),
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

function runMetrics(all: Registers): Pick<Metrics, "runEnded" | "callEnded" | "modelTurn" | "tokensUsed"> {
  const runs = new Counter({
    ...all,
    name: "patchbay_runs_total",
    help: "Ended runs, by outcome: `succeeded`, or the code of the failure",
    labelNames: ["outcome"],
  });
  const durations = new Histogram({
    ...all,
    name: "patchbay_query_duration_seconds",
    help: "Seconds from the acceptance of a query to its last event",
    buckets: SECONDS,
  });
  const calls = new Counter({
    ...all,
    name: "patchbay_function_calls_total",
    help: "Ended function calls, by outcome: `succeeded`, or the code of the failure",
    labelNames: ["outcome"],
  });
  const turns = new Counter({
    ...all,
    name: "patchbay_model_turns_total",
    help: "Requests to a model, repeated ones included, by outcome: `succeeded`, `aborted`, or the kind of the failure",
    labelNames: ["provider", "outcome"],
  });
  const tokens = new Counter({
    ...all,
    name: "patchbay_tokens_total",
    help: "Tokens billed by providers; input includes cached_input and cache_write_input",
    labelNames: ["provider", "kind"],
  });
  return {
    runEnded(outcome, durationMs) {
      runs.inc({ outcome });
      durations.observe(durationMs / 1000);
    },
    callEnded: (outcome) => calls.inc({ outcome }),
    modelTurn: (provider, outcome) => turns.inc({ provider, outcome }),
    tokensUsed(provider, { input, cachedInput, cacheWriteInput = 0, output }) {
      tokens.inc({ provider, kind: "input" }, input);
      tokens.inc({ provider, kind: "cached_input" }, cachedInput);
      tokens.inc({ provider, kind: "cache_write_input" }, cacheWriteInput);
      tokens.inc({ provider, kind: "output" }, output);
    },
  };
}

function accessMetrics(all: Registers): Pick<Metrics, "accessDisagreed" | "accessWidened"> {
  const disagreements = new Counter({
    ...all,
    name: "patchbay_access_disagreements_total",
    help: "Calls that the control plane allowed and a runtime refused by its roles",
  });
  const widenings = new Counter({
    ...all,
    name: "patchbay_access_widened_total",
    help: "Function sets that allow more than the set they replace",
  });
  return { accessDisagreed: () => disagreements.inc(), accessWidened: () => widenings.inc() };
}

function streamMetrics(
  all: Registers,
): Pick<Metrics, "queryAnswered" | "streamOpened" | "streamRefused" | "streamWaiting"> {
  const queries = new Counter({
    ...all,
    name: "patchbay_queries_total",
    help: "Requests of the query endpoints, by outcome: `accepted`, `joined` by an Idempotency-Key, or the code of the refusal",
    labelNames: ["endpoint", "outcome"],
  });
  const open = new Gauge({ ...all, name: "patchbay_streams_open", help: "Event streams that this replica sends now" });
  const refused = new Counter({
    ...all,
    name: "patchbay_streams_refused_total",
    help: "Event streams refused by a limit, by the limit's name",
    labelNames: ["limit"],
  });
  const waiting = new Gauge({
    ...all,
    name: "patchbay_streams_waiting",
    help: "Queries that wait for a slot among the open event streams",
  });
  return {
    queryAnswered: (endpoint, outcome) => queries.inc({ endpoint, outcome }),
    streamOpened: () => counted(open),
    streamRefused: (limit) => refused.inc({ limit }),
    streamWaiting: () => counted(waiting),
  };
}

function runtimeMetrics(
  all: Registers,
): Pick<Metrics, "runtimeConnected" | "runtimeDisconnected" | "runtimeRefused" | "frameDropped"> {
  const connected = new Gauge({
    ...all,
    name: "patchbay_runtimes_connected",
    help: "Runtimes that are connected to this replica now",
  });
  const refused = new Counter({
    ...all,
    name: "patchbay_runtimes_refused_total",
    help: "Connections of runtimes that were refused or closed, by limit or reason",
    labelNames: ["reason"],
  });
  const droppedFrames = new Counter({
    ...all,
    name: "patchbay_runtime_frames_dropped_total",
    help: "Frames of runtimes that exceeded the limit of their connection",
  });
  return {
    runtimeConnected: () => connected.inc(),
    runtimeDisconnected: () => connected.dec(),
    runtimeRefused: (reason) => refused.inc({ reason }),
    frameDropped: () => droppedFrames.inc(),
  };
}

/** Adds one to the gauge until disposed. */
function counted(gauge: Gauge): Disposable {
  gauge.inc();
  return { [Symbol.dispose]: () => gauge.dec() };
}
