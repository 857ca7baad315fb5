import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics, MetricsPage } from "../ports/metrics.ts";

/** Buckets from a cached answer to the longest read timeout that the docs ask proxies to allow. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 240, 300];

/** Prometheus metrics in their own registry, so that several control planes in one process do not share counts. */
export function createMetrics(registry = new Registry()): Metrics & MetricsPage {
  collectDefaultMetrics({ register: registry });
  return {
    ...counters(registry),
    ...gauges(registry),
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

type GaugeName = "runtimeConnected" | "runtimeDisconnected" | "streamOpened" | "streamWaiting";

function counters(registry: Registry): Omit<Metrics, GaugeName> {
  const counter = <Label extends string>(name: string, labelNames: Label[], help: string) =>
    new Counter({ registers: [registry], name: `patchbay_${name}_total`, labelNames, help });

  const runs = counter("runs", ["outcome"], "Ended runs, by outcome: `succeeded`, or the code of the failure");
  const durations = new Histogram({
    registers: [registry],
    name: "patchbay_query_duration_seconds",
    help: "Seconds from the acceptance of a query to its last event",
    buckets: SECONDS,
  });
  const calls = counter(
    "function_calls",
    ["outcome"],
    "Ended function calls, by outcome: `succeeded`, or the code of the failure",
  );
  const turns = counter(
    "model_turns",
    ["provider", "outcome"],
    "Requests to a model, repeated ones included, by outcome: `succeeded`, `aborted`, or the kind of the failure",
  );
  const tokens = counter(
    "tokens",
    ["provider", "kind"],
    "Tokens billed by providers; input includes cached_input and cache_write_input",
  );
  const disagreements = counter(
    "access_disagreements",
    [],
    "Calls that the control plane allowed and a runtime refused by its roles",
  );
  const widenings = counter("access_widened", [], "Function sets that allow more than the set they replace");
  const queries = counter(
    "queries",
    ["endpoint", "outcome"],
    "Requests of the query endpoints, by outcome: `accepted`, `joined` by an Idempotency-Key, or the code of the refusal",
  );
  const webhooks = counter(
    "webhook_attempts",
    ["outcome"],
    "Attempts to send a delivery, by outcome: `delivered`, `failed` with a further attempt to come, or `given_up`",
  );
  const streams = counter("streams_refused", ["limit"], "Event streams refused by a limit, by the limit's name");
  const runtimes = counter(
    "runtimes_refused",
    ["reason"],
    "Connections of runtimes that were refused or closed, by limit or reason",
  );
  const frames = counter(
    "runtime_frames_dropped",
    [],
    "Frames of runtimes that exceeded the limit of their connection",
  );
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
    accessDisagreed: () => disagreements.inc(),
    accessWidened: () => widenings.inc(),
    queryAnswered: (endpoint, outcome) => queries.inc({ endpoint, outcome }),
    webhookAttempted: (outcome) => webhooks.inc({ outcome }),
    streamRefused: (limit) => streams.inc({ limit }),
    runtimeRefused: (reason) => runtimes.inc({ reason }),
    frameDropped: () => frames.inc(),
  };
}

function gauges(registry: Registry): Pick<Metrics, GaugeName> {
  const gauge = (name: string, help: string) => new Gauge({ registers: [registry], name: `patchbay_${name}`, help });

  const open = gauge("streams_open", "Event streams that this replica sends now");
  const waiting = gauge("streams_waiting", "Queries that wait for a slot among the open event streams");
  const connected = gauge("runtimes_connected", "Runtimes that are connected to this replica now");
  return {
    streamOpened: () => counted(open),
    streamWaiting: () => counted(waiting),
    runtimeConnected: () => connected.inc(),
    runtimeDisconnected: () => connected.dec(),
  };
}

/** Adds one to the gauge until disposed. */
function counted(gauge: Gauge): Disposable {
  gauge.inc();
  return { [Symbol.dispose]: () => gauge.dec() };
}
