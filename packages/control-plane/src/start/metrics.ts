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

/** Prometheus metrics in their own registry, so that several control planes in one process do not share counts. */
export function createMetrics({
  registry = new Registry(),
  health,
}: { registry?: Registry; health?: HealthSources } = {}): Metrics & MetricsPage {
  collectDefaultMetrics({ register: registry });
  addHealthMetrics(registry, health);
  return {
    ...runMetrics(registry),
    ...callMetrics(registry),
    ...modelMetrics(registry),
    ...accessMetrics(registry),
    ...runtimeMetrics(registry),
    ...streamMetrics(registry),
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

function counter<Label extends string>(registry: Registry, name: string, labelNames: Label[], help: string) {
  return new Counter({ registers: [registry], name: `patchbay_${name}_total`, labelNames, help });
}

/**
 * Prometheus sees no increase in a series that begins at 1: the first rare event would raise no alert and have no rate.
 */
function beginAtZero<Label extends string>(made: Counter<Label>, label: Label, values: readonly string[]): void {
  for (const value of values) made.inc({ [label]: value } as Record<Label, string>, 0);
}

function gauge(registry: Registry, name: string, help: string) {
  return new Gauge({ registers: [registry], name: `patchbay_${name}`, help });
}

function runMetrics(registry: Registry): Pick<Metrics, "runEnded" | "leaseHeld" | "leaseLost" | "webhookAttempted"> {
  const runs = counter(
    registry,
    "runs",
    ["outcome"],
    "Ended runs, by outcome: `succeeded`, or the code of the failure",
  );
  const durations = new Histogram({
    registers: [registry],
    name: "patchbay_query_duration_seconds",
    help: "Seconds from the acceptance of a query to its last event, without the time that it waits for people",
    buckets: SECONDS,
  });
  const leases = gauge(registry, "leases_held", "Runs that this replica works on now, each under a lease");
  const lost = counter(registry, "leases_lost", [], "Runs that this replica gave up because their lease was lost");
  const webhooks = counter(
    registry,
    "webhook_attempts",
    ["outcome"],
    "Attempts to send a delivery, by outcome: `delivered`, `failed` with a further attempt to come, or `given_up`",
  );
  beginAtZero(webhooks, "outcome", ["delivered", "failed", "given_up"]);
  return {
    runEnded(outcome, durationMs) {
      runs.inc({ outcome });
      durations.observe(durationMs / 1000);
    },
    leaseHeld: () => counted(leases),
    leaseLost: () => lost.inc(),
    webhookAttempted: (outcome) => webhooks.inc({ outcome }),
  };
}

function callMetrics(registry: Registry): Pick<Metrics, "callEnded"> {
  const calls = counter(
    registry,
    "function_calls",
    ["outcome"],
    "Ended function calls, by outcome: `succeeded`, the code of the failure, or that of a run that ended before the call",
  );
  const denied = counter(
    registry,
    "calls_denied",
    ["rule"],
    "Calls that were refused, by rule: `roles`, `unknown`, `authorize`, `context`, `input` or `approval`",
  );
  const durations = new Histogram({
    registers: [registry],
    name: "patchbay_function_duration_seconds",
    labelNames: ["agent", "function", "outcome"] as const,
    help: `Seconds from when a call may begin, or its run is resumed, to its stored outcome, with waits for a permit and between attempts (\`succeeded\`, \`denied\`, \`failed\`, or \`cancelled\` with its run), by agent and function; the first ${NAMED_FUNCTIONS} functions by name, all others as \`${OTHER}\``,
    buckets: NAMED_SECONDS,
  });
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
  };
}

function modelMetrics(registry: Registry): Pick<Metrics, "modelTurn" | "turnBilled"> {
  const labelNames = ["provider", "model"] as const;
  const turns = counter(
    registry,
    "model_turns",
    ["provider", "outcome"],
    "Requests to a model, repeated ones included, by outcome: `succeeded`, `aborted`, or the kind of the failure",
  );
  const histogram = (name: string, help: string) =>
    new Histogram({
      registers: [registry],
      name: `patchbay_model_${name}_seconds`,
      labelNames,
      help: `${help}; the first ${NAMED_MODELS} models by name, all others as \`${OTHER}\``,
      buckets: NAMED_SECONDS,
    });
  const durations = histogram("duration", "Seconds of a successful request to a model");
  const firstTokens = histogram("first_token", "Seconds until the first text or thought of a successful request");
  const tokens = counter(
    registry,
    "tokens",
    ["provider", "model", "kind"],
    "Tokens billed by providers; input includes cached_input and cache_write_input",
  );
  const cost = counter(registry, "cost_usd", ["provider", "model"], "Cost of model turns in US dollars");
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
  };
}

function accessMetrics(
  registry: Registry,
): Pick<Metrics, "accessDisagreed" | "accessWidened" | "queryAnswered" | "requestAnswered"> {
  const disagreements = counter(
    registry,
    "access_disagreements",
    [],
    "Calls that the control plane allowed and a runtime refused by its roles",
  );
  const widenings = counter(registry, "access_widened", [], "Function sets that allow more than the set they replace");
  const requests = counter(
    registry,
    "requests",
    ["api", "outcome"],
    "Answered requests of an API (`query` or `console`), by outcome: `succeeded`, `client_gone`, or the code of the refusal",
  );
  const queries = counter(
    registry,
    "queries",
    ["endpoint", "outcome"],
    "Requests of the query endpoints, by outcome: `accepted`, `joined` by an Idempotency-Key, or the code of the refusal",
  );
  return {
    accessDisagreed: () => disagreements.inc(),
    accessWidened: () => widenings.inc(),
    requestAnswered: (api, outcome) => requests.inc({ api, outcome }),
    queryAnswered: (endpoint, outcome) => queries.inc({ endpoint, outcome }),
  };
}

function runtimeMetrics(
  registry: Registry,
): Pick<Metrics, "runtimeConnected" | "runtimeDisconnected" | "runtimeRefused" | "frameDropped"> {
  const connected = gauge(registry, "runtimes_connected", "Runtimes that are connected to this replica now");
  const refused = counter(
    registry,
    "runtimes_refused",
    ["reason"],
    "Connections of runtimes that were refused or closed, by limit or reason",
  );
  const frames = counter(
    registry,
    "runtime_frames_dropped",
    [],
    "Frames of runtimes that exceeded the limit of their connection",
  );
  beginAtZero(refused, "reason", RUNTIME_REFUSALS);
  return {
    runtimeConnected: () => connected.inc(),
    runtimeDisconnected: () => connected.dec(),
    runtimeRefused: (reason) => refused.inc({ reason }),
    frameDropped: () => frames.inc(),
  };
}

function streamMetrics(registry: Registry): Pick<Metrics, "streamOpened" | "streamRefused" | "streamWaiting"> {
  const open = gauge(registry, "streams_open", "Event streams that this replica sends now");
  const waiting = gauge(registry, "streams_waiting", "Queries that wait for a slot among the open event streams");
  const refused = counter(
    registry,
    "streams_refused",
    ["limit"],
    "Event streams refused by a limit, by the limit's name",
  );
  beginAtZero(refused, "limit", STREAM_LIMITS);
  return {
    streamOpened: () => counted(open),
    streamWaiting: () => counted(waiting),
    streamRefused: (limit) => refused.inc({ limit }),
  };
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
