import { DEFAULT_LIMITS, type OperatorLimits } from "@patchbay/protocol";
import type { CallerIssuer } from "@patchbay/server/accounts/callers";
import { DEFAULT_TIERS, type Tiers } from "@patchbay/server/accounts/limits";
import type { ProviderConfig } from "@patchbay/models/catalog";
import { type Log, present } from "@patchbay/kit";
import type { ModelProvider } from "@patchbay/engine/ports/model-provider";
import type { Observer } from "@patchbay/engine/run/api";
import type { TracingOptions } from "@patchbay/engine/tracing/tracing";
import type { FirstStart } from "./first-start.ts";
import { createLog } from "./log.ts";

/** Options of {@link createControlPlane}. Only `database` is required. */
export interface ControlPlaneOptions {
  /**
   * `sqlite:PATH` or `sqlite::memory:`, which one process serves at a time, or `postgres://...`, which several replicas may
   * serve.
   */
  database: string;
  /** The NATS server that connects the replicas on one Postgres database. Without it this is the only replica. */
  nats?: string;
  /** Address to listen on. Default 127.0.0.1. */
  host?: string;
  /**
   * Port for the API and the console. Default 8787; 0 picks a free one. With `false`, which needs `publicUrl`, the control plane
   * does not listen: another server passes requests to `listener` or `fetch`, and runtime connections to `upgrade`.
   */
  port?: number | false;
  /** Model provider keys and addresses. */
  providers?: ProviderSettings;
  /** Your own model, for example a test's script. It answers every query that names no provider. */
  model?: ModelProvider;
  /** Wraps each provider that answers a query, for example to record its answers. */
  wrapModel?: (provider: ModelProvider) => ModelProvider;
  /** Serve the local development variant (endpoint 3). Default false. */
  local?: boolean;
  /** A run's time limit in milliseconds, from acceptance to end. Default 240,000. */
  runTimeoutMs?: number;
  /** Longest silence during a provider's answer; then the attempt fails. Default 60,000. */
  providerIdleMs?: number;
  /** Time between two pings on a runtime's connection. Two unanswered pings end the connection. Default 5,000. */
  heartbeatMs?: number;
  /** How long a call waits for its runtime to reconnect. Default: 2,500 and two heartbeats. */
  reconnectMs?: number;
  /**
   * How long a query waits for a runtime that was connected within the last minute, at least until 20 s after a start. Default 15,000;
   * 0 for no wait.
   */
  arrivalMs?: number;
  /** The identity provider whose tokens in `X-Patchbay-Caller` prove callers. Default: none; such tokens are refused. */
  callers?: CallerIssuer;
  /** Origins whose pages may call the API. Default none. */
  corsOrigins?: readonly string[];
  /**
   * Base address that clients use, where it differs from the address that the server listens on. A control plane without a
   * port serves everything below its path; for one with a port, a proxy removes the path.
   */
  publicUrl?: string;
  /** Trust a proxy's X-Forwarded headers. Default false. */
  trustProxy?: boolean;
  /** Days until ended runs are deleted. Default 30. */
  retentionDays?: number;
  /** Days until audit log entries are deleted. Default 365. */
  auditDays?: number;
  /** Days until usage and credit movements are condensed to one sum per day. Default 90. */
  usageDays?: number;
  /** Query limits and charging by tier. Default: the built-in tiers. */
  tiers?: Tiers;
  /**
   * Private networks to which webhooks may be sent, also without TLS: for one organisation and some ports, such as
   * `org_1=10.1.0.0/16:443,8443`, or for all, such as `10.1.0.0/16`. Default: none.
   */
  webhookNetworks?: readonly string[];
  /** Operator limits. Omitted ones keep their defaults. */
  limits?: Partial<OperatorLimits>;
  /**
   * Port for the metrics, on the same host; 0 picks a free one. The API's port then does not serve them. Default: the
   * API's port.
   */
  metricsPort?: number;
  /** Bearer token that `GET /metrics` requires. Default: none. */
  metricsToken?: string;
  /** Serve the console and its API. Default true. */
  console?: boolean;
  /** Folder with the built console. Default: the one in this package, if it was built. */
  consoleFiles?: string;
  /** How spans are made. Has no effect unless the program registers an OpenTelemetry provider before it starts the control plane. */
  tracing?: TracingOptions;
  /** What the first start sets up. Later starts compare it with what was set up, and throw when it differs. */
  firstStart?: FirstStart;
  /** Default: JSON lines on stderr. */
  log?: Log;
  /** Called for each query, call and run end, for example to print them. */
  onQueryEvent?: Observer;
}

/**
 * Model provider keys and addresses. With `offline` the built-in offline model answers when no other provider is the
 * default.
 */
export type ProviderSettings = Omit<ProviderConfig, "offline"> & { offline?: boolean };

/** Options with their defaults. */
export type Settings = ReturnType<typeof withDefaults>;

export function withDefaults(options: ControlPlaneOptions) {
  const { port = 8787 } = options;
  const publicUrl = options.publicUrl?.replace(/\/+$/, "");
  if (port === false && publicUrl === undefined)
    throw new Error(
      "A control plane without a port has no address. Set publicUrl to the one at which clients reach it.",
    );
  const prefix = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/^\/$/, "");
  if (/\/console(\/|$)/.test(prefix))
    throw new Error(
      `The path of publicUrl, ${prefix}, contains /console, the path of the console. Choose another path.`,
    );
  return {
    ...options,
    host: options.host ?? "127.0.0.1",
    port,
    ...present({ publicUrl }),
    prefix,
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
