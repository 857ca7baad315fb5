import { DEFAULT_LIMITS, type OperatorLimits } from "@patchbay/protocol";
import type { CallerIssuer } from "../accounts/callers.ts";
import { DEFAULT_TIERS, type Tiers } from "../accounts/limits.ts";
import type { ProviderConfig } from "../models/catalog.ts";
import type { Log } from "../ports/log.ts";
import type { ModelProvider } from "../ports/model-provider.ts";
import type { Observer } from "../run/api.ts";
import type { TracingOptions } from "../tracing/tracing.ts";
import type { FirstStart } from "./first-start.ts";
import { createLog } from "./log.ts";

/** Options of {@link createControlPlane}. Only `database` is required. */
export interface ControlPlaneOptions {
  /**
   * `sqlite:PATH` or `sqlite::memory:`, which one process serves at a time, or `postgres://...`, which several replicas may
   * serve.
   */
  database: string;
  /** Address of the NATS server that connects the replicas on one Postgres database. Without it this is the only replica. */
  nats?: string;
  /** Address to listen on. Default 127.0.0.1. */
  host?: string;
  /** Port of the API and the console. Default 8787; 0 picks a free one. */
  port?: number;
  /** Keys and addresses of the model providers. */
  providers?: ProviderSettings;
  /** A model of your own, for example a test's script. It answers every query that names no provider. */
  model?: ModelProvider;
  /** Wraps each provider that answers a query, for example to record its answers. */
  wrapModel?: (provider: ModelProvider) => ModelProvider;
  /** Serve the local development variant (endpoint 3). Default false. */
  local?: boolean;
  /** Time limit of a run in milliseconds, from acceptance to end. Default 240,000. */
  runTimeoutMs?: number;
  /** Longest silence of a model provider in the middle of an answer; then the attempt fails. Default 60,000. */
  providerIdleMs?: number;
  /** Time between two pings on a runtime's connection. Two unanswered pings end the connection. Default 5,000. */
  heartbeatMs?: number;
  /** How long a call waits for its runtime to reconnect. Default: 2,500 and two heartbeats. */
  reconnectMs?: number;
  /** How long a query waits for a runtime that was connected within the last minute. Default 15,000. */
  arrivalMs?: number;
  /** The identity provider whose tokens in `X-Patchbay-Caller` prove callers. Default: none; such tokens are refused. */
  callers?: CallerIssuer;
  /** Origins whose pages may call the API. Default none. */
  corsOrigins?: readonly string[];
  /** Base address that clients use, where it differs from the address that the server listens on. */
  publicUrl?: string;
  /** Trust the X-Forwarded headers of a proxy. Default false. */
  trustProxy?: boolean;
  /** Days until ended runs are deleted. Default 30. */
  retentionDays?: number;
  /** Days until entries of the audit log are deleted. Default 365. */
  auditDays?: number;
  /** Days until usage and credit movements are condensed to one sum per day. Default 90. */
  usageDays?: number;
  /** Query limits and charging by tier. Default: the built-in tiers. */
  tiers?: Tiers;
  /** Private networks to which webhooks may be sent, such as `10.1.0.0/16`; also without TLS. Default: none. */
  webhookNetworks?: readonly string[];
  /** Operator limits. Those that are left out keep their defaults. */
  limits?: Partial<OperatorLimits>;
  /**
   * Port of the metrics, on the same host; 0 picks a free one. The API's port then does not serve them. Default: the API's
   * port.
   */
  metricsPort?: number;
  /** Bearer token that `GET /metrics` requires. Default: none. */
  metricsToken?: string;
  /** Serve the console and its API. Default true. */
  console?: boolean;
  /** Folder of the built console. Default: the one in this package, if it was built. */
  consoleFiles?: string;
  /** How spans are made. Has no effect unless the program registers an OpenTelemetry provider before it starts the control plane. */
  tracing?: TracingOptions;
  /** What the first start sets up. Later starts compare it with what was set up, and throw when it differs. */
  firstStart?: FirstStart;
  /** Default: JSON lines on stderr. */
  log?: Log;
  /** Called for each query, call and end of a run, for example to print them. */
  onQueryEvent?: Observer;
}

/**
 * Keys and addresses of the model providers. With `offline` the built-in offline model answers when no other provider is the
 * default.
 */
export type ProviderSettings = Omit<ProviderConfig, "offline"> & { offline?: boolean };

/** Options with their defaults. */
export type Settings = ReturnType<typeof withDefaults>;

export function withDefaults(options: ControlPlaneOptions) {
  return {
    ...options,
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 8787,
    local: options.local ?? false,
    runTimeoutMs: options.runTimeoutMs ?? 240_000,
    corsOrigins: options.corsOrigins ?? [],
    trustProxy: options.trustProxy ?? false,
    retention: {
      days: options.retentionDays ?? 30,
      auditDays: options.auditDays ?? 365,
      usageDays: options.usageDays ?? 90,
    },
    tiers: options.tiers ?? DEFAULT_TIERS,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    console: options.console ?? true,
    tracing: options.tracing ?? {},
    log: options.log ?? createLog(),
    observe: options.onQueryEvent ?? (() => {}),
  };
}
