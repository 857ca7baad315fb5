import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { refusalRules } from "@patchbay/engine/ports/refusal";
import {
  type AskedModel,
  type EndedAttempt,
  type EndedCall,
  type Metrics,
  type MetricsPage,
  RUNTIME_REFUSALS,
  STREAM_LIMITS,
} from "@patchbay/engine/ports/metrics";
import { addHealthMetrics, type HealthSources } from "./health-metrics.ts";

/** Buckets from a cached answer to the longest read timeout that the docs ask proxies to allow. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 240, 300];
/** Fewer for what is counted by name: each label value has all buckets. */
const NAMED_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Names with their own label. Owners and clients choose names, and each one costs memory here and in Prometheus. */
const NAMED_FUNCTIONS = 200;
const NAMED_MODELS = 50;
const OTHER = "other";
const MODELS_BY_NAME = `the first ${NAMED_MODELS} models by name, all others as \`${OTHER}\``;

/**
 * Prometheus metrics in their own registry, so that several control planes in one process do not share counts. Those `ofProcess`
 * observe Node.js until it ends.
 */
export function createMetrics({
  registry = new Registry(),
  health,
  ofProcess = true,
}: { registry?: Registry; health?: HealthSources; ofProcess?: boolean } = {}): Metrics & MetricsPage {
  if (ofProcess) collectDefaultMetrics({ register: registry });
  addHealthMetrics(registry, health);
  const meters = metersOf(registry);
  return {
    ...runMetrics(meters),
    ...callMetrics(meters),
    ...modelMetrics(meters),
    ...trafficMetrics(meters),
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

/** The metrics by name, with the help text of each. */
const HELP = {
  runs: "Ended runs, by outcome: `succeeded`, or the code of the failure",
  query_duration: "Seconds from the acceptance of a query to its last event, without the time that it waits for people",
  leases_held: "Runs that this replica works on now, each under a lease",
  leases_lost: "Runs that this replica gave up because their lease was lost",
  webhook_attempts:
    "Attempts to send a delivery, by outcome: `delivered`, `failed` with a further attempt to come, or `given_up`",
  function_calls:
    "Ended function calls, by outcome: `succeeded`, the code of the failure, or that of a run that ended before the call",
  calls_denied: "Calls that were refused, by rule: `roles`, `unknown`, `authorize`, `context`, `input` or `approval`",
  function_duration: `Seconds from when a call may begin, or its run is resumed, to its stored outcome, with waits for a permit and between attempts (\`succeeded\`, \`denied\`, \`failed\`, or \`cancelled\` with its run), by agent and function; the first ${NAMED_FUNCTIONS} functions by name, all others as \`${OTHER}\``,
  model_turns:
    "Requests to a model, repeated ones included, by outcome: `succeeded`, `aborted`, or the kind of the failure",
  model_duration: `Seconds of a successful request to a model; ${MODELS_BY_NAME}`,
  model_first_token: `Seconds until the first text or thought of a successful request; ${MODELS_BY_NAME}`,
  tokens: "Tokens billed by providers; input includes cached_input and cache_write_input",
  cost_usd: "Cost of model turns in US dollars",
  access_disagreements: "Calls that the control plane allowed and a runtime refused by its roles",
  flow_disallowed: "Calls that data-flow rules did not allow, by what the service does with them and by rule",
  access_widened: "Function sets that allow more than the set they replace",
  requests:
    "Answered requests of an API (`query` or `console`), by outcome: `succeeded`, `client_gone`, or the code of the refusal",
  queries:
    "Requests of the query endpoints, by outcome: `accepted`, `joined` by an Idempotency-Key, or the code of the refusal",
  runtimes_connected: "Runtimes that are connected to this replica now",
  runtimes_refused: "Connections of runtimes that were refused or closed, by limit or reason",
  runtime_frames_dropped: "Frames of runtimes that exceeded the limit of their connection",
  streams_open: "Event streams that this replica sends now",
  streams_waiting: "Queries that wait for a slot among the open event streams",
  streams_refused: "Event streams refused by a limit, by the limit's name",
};
type Name = keyof typeof HELP;

/** Makes metrics of the registry. */
function metersOf(registry: Registry) {
  const about = (name: Name) => ({ registers: [registry], name: `patchbay_${name}`, help: HELP[name] });
  return {
    counter<Label extends string>(name: Name, ...labelNames: Label[]) {
      return new Counter({ ...about(name), name: `patchbay_${name}_total`, labelNames });
    },
    gauge: (name: Name) => new Gauge(about(name)),
    seconds<Label extends string>(name: Name, buckets: number[], ...labelNames: Label[]) {
      return new Histogram({ ...about(name), name: `patchbay_${name}_seconds`, buckets, labelNames });
    },
  };
}

type Meters = ReturnType<typeof metersOf>;

/**
 * Prometheus sees no increase in a series that begins at 1: the first rare event would raise no alert and have no rate.
 */
function beginAtZero<Label extends string>(made: Counter<Label>, label: Label, values: readonly string[]): void {
  for (const value of values) made.inc({ [label]: value } as Record<Label, string>, 0);
}

function runMetrics({ counter, gauge, seconds }: Meters) {
  const runs = counter("runs", "outcome");
  const durations = seconds("query_duration", SECONDS);
  const leases = gauge("leases_held");
  const lost = counter("leases_lost");
  const webhooks = counter("webhook_attempts", "outcome");
  beginAtZero(webhooks, "outcome", ["delivered", "failed", "given_up"]);
  return {
    runEnded(outcome, durationMs) {
      runs.inc({ outcome });
      durations.observe(durationMs / 1000);
    },
    leaseHeld: () => counted(leases),
    leaseLost: () => lost.inc(),
    webhookAttempted: (outcome) => webhooks.inc({ outcome }),
  } satisfies Partial<Metrics>;
}

function callMetrics({ counter, seconds }: Meters) {
  const calls = counter("function_calls", "outcome");
  const denied = counter("calls_denied", "rule");
  const durations = seconds("function_duration", NAMED_SECONDS, "agent", "function", "outcome");
  const named = limited(NAMED_FUNCTIONS);
  return {
    callEnded({ agentId, functionName = "", outcome, rule, ms }: EndedCall) {
      calls.inc({ outcome });
      if (rule !== undefined) denied.inc({ rule: refusalRules.has(rule) ? rule : OTHER });
      if (ms === undefined) return;
      const names = named(agentId, functionName)
        ? { agent: agentId, function: functionName }
        : { agent: OTHER, function: OTHER };
      const itself = outcome === "succeeded" || outcome === "cancelled";
      const result = itself ? outcome : rule === undefined ? "failed" : "denied";
      durations.observe({ ...names, outcome: result }, ms / 1000);
    },
  } satisfies Partial<Metrics>;
}

function modelMetrics({ counter, seconds }: Meters) {
  const turns = counter("model_turns", "provider", "outcome");
  const durations = seconds("model_duration", NAMED_SECONDS, "provider", "model");
  const firstTokens = seconds("model_first_token", NAMED_SECONDS, "provider", "model");
  const tokens = counter("tokens", "provider", "model", "kind");
  const cost = counter("cost_usd", "provider", "model");
  const named = limited(NAMED_MODELS);
  const labelsOf = ({ provider, model }: AskedModel) => ({ provider, model: named(provider, model) ? model : OTHER });
  return {
    modelTurn({ outcome, ms, firstTokenMs, ...asked }: EndedAttempt) {
      turns.inc({ provider: asked.provider, outcome });
      // Only a model that answered gets its own label: a client may name any model.
      if (ms !== undefined) durations.observe(labelsOf(asked), ms / 1000);
      if (firstTokenMs !== undefined) firstTokens.observe(labelsOf(asked), firstTokenMs / 1000);
    },
    turnBilled(asked, { input, cachedInput, cacheWriteInput = 0, output }, costMicros) {
      const labels = labelsOf(asked);
      tokens.inc({ ...labels, kind: "input" }, input);
      tokens.inc({ ...labels, kind: "cached_input" }, cachedInput);
      tokens.inc({ ...labels, kind: "cache_write_input" }, cacheWriteInput);
      tokens.inc({ ...labels, kind: "output" }, output);
      cost.inc(labels, costMicros / 1_000_000);
    },
  } satisfies Partial<Metrics>;
}

/** Of the requests that this replica answers, its streams, and its runtimes. */
function trafficMetrics({ counter, gauge }: Meters) {
  const disagreements = counter("access_disagreements");
  const widenings = counter("access_widened");
  const flows = counter("flow_disallowed", "mode", "rule");
  const requests = counter("requests", "api", "outcome");
  const queries = counter("queries", "endpoint", "outcome");
  const connected = gauge("runtimes_connected");
  const refused = counter("runtimes_refused", "reason");
  const frames = counter("runtime_frames_dropped");
  beginAtZero(refused, "reason", RUNTIME_REFUSALS);
  const open = gauge("streams_open");
  const waiting = gauge("streams_waiting");
  const refusedStreams = counter("streams_refused", "limit");
  beginAtZero(refusedStreams, "limit", STREAM_LIMITS);
  return {
    accessDisagreed: () => disagreements.inc(),
    accessWidened: () => widenings.inc(),
    flowDisallowed: ({ mode, rule }) => flows.inc({ mode, rule }),
    requestAnswered: (api, outcome) => requests.inc({ api, outcome }),
    queryAnswered: (endpoint, outcome) => queries.inc({ endpoint, outcome }),
    runtimeConnected: () => connected.inc(),
    runtimeDisconnected: () => connected.dec(),
    runtimeRefused: (reason) => refused.inc({ reason }),
    frameDropped: () => frames.inc(),
    streamOpened: () => counted(open),
    streamWaiting: () => counted(waiting),
    streamRefused: (limit) => refusedStreams.inc({ limit }),
  } satisfies Partial<Metrics>;
}

/** Adds one to the gauge until disposed. */
function counted(gauge: Gauge): Disposable {
  gauge.inc();
  return { [Symbol.dispose]: () => gauge.dec() };
}

/** A function that is always true for the first `most` pairs of names that it gets. */
function limited(most: number): (first: string, second: string) => boolean {
  const known = new Map<string, Set<string>>();
  let count = 0;
  return (first, second) => {
    const seen = known.get(first);
    if (seen?.has(second)) return true;
    if (count >= most) return false;
    count++;
    if (seen) seen.add(second);
    else known.set(first, new Set([second]));
    return true;
  };
}
