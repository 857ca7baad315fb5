import type { HttpBindings } from "@hono/node-server";
import type { OperatorLimits } from "@patchbay/protocol";
import type { Context } from "hono";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics, MetricsPage } from "../ports/metrics.ts";
import type { Credential, CredentialKind, Store, ThreadStore } from "../ports/stores.ts";
import type { Runs } from "../run/api.ts";
import type { FairQueue } from "./fair-queue.ts";
import type { OpenStreams } from "./open-streams.ts";

/** What is left of an organisation's allowance after this query was counted. */
export interface RateLimitState {
  allowed: boolean;
  /** Queries per window of 60 s. */
  limit: number;
  remaining: number;
  resetSeconds: number;
}

/** Dependencies of the HTTP layer. */
export interface HttpDeps {
  runs: Runs;
  threads: Pick<ThreadStore, "list" | "get">;
  /** The credential of this kind with this secret; undefined when malformed, unknown, expired or revoked. */
  authenticate(kind: CredentialKind, secret: string): Promise<Credential | undefined>;
  /** Does the work of a request as the organisation of its key. */
  within: Store["within"];
  /** Counts one query. Undefined for a tier without a limit. */
  rateLimit(orgId: string, tier: string): Promise<RateLimitState | undefined>;
  /** False while the store is out of reach, until the bus was reached for the first time, and once the process drains. */
  ready(): Promise<boolean>;
  streams: OpenStreams;
  metrics: MetricsPage & Pick<Metrics, "queryAnswered">;
  log: Log;
  clock: Clock;
  version: string;
  limits: OperatorLimits;
  /** Lists and details, in turn over the organisations: one that asks for many must not delay the others, nor queries. */
  reads: FairQueue;
  /** Origins whose pages may call the service; `*` for any. */
  corsOrigins: readonly string[];
  publicUrl?: string;
  /** True where the local development variant is served. */
  local: boolean;
  /** Address the server is bound to; on a loopback one the local variant checks the Host header. */
  host?: string;
  /** True when a proxy in front sets the X-Forwarded headers. */
  trustProxy: boolean;
  /** True where metrics are served at a port of their own. */
  metricsApart?: boolean;
  /** Bearer token that the metrics ask for. Without one they are open to every client of the port. */
  metricsToken?: string;
  /** Longest silence of a stream, in milliseconds. */
  keepaliveMs?: number;
  /** Oldest age of a stream, in milliseconds: a run's time-out and 30 s. */
  maxStreamAgeMs?: number;
}

export type HttpEnv = { Bindings: Partial<HttpBindings> };

/** One request on its way to its response. */
export interface Exchange {
  readonly c: Context<HttpEnv>;
  readonly requestId: string;
  /** Headers of the response, whatever it will be. */
  readonly headers: Record<string, string>;
}

export type Handler = (exchange: Exchange) => Promise<Response> | Response;
