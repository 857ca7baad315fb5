import type { OperatorLimits } from "@patchbay/protocol";
import type { ClientTokens } from "../../accounts/client-tokens.ts";
import type { AuditStore } from "../../ports/audit.ts";
import type { Bus } from "../../ports/bus.ts";
import type { ProvenCaller } from "../../ports/callers.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics, MetricsPage } from "../../ports/metrics.ts";
import type { Credential, CredentialKind, ThreadStore } from "../../ports/stores.ts";
import type { Store } from "../../ports/stores.ts";
import type { Approvals, Runs } from "../../run/api.ts";
import type { FairQueue } from "../kernel/fair-queue.ts";
import type { OpenStreams } from "./open-streams.ts";

/** State of an organisation's rate limit after this request was counted. */
export interface RateLimitState {
  allowed: boolean;
  /** Requests per window of 60 s. */
  limit: number;
  remaining: number;
  resetSeconds: number;
}

/** Dependencies of the query API. */
export interface HttpDeps {
  runs: Runs;
  approvals: Approvals;
  threads: Pick<ThreadStore, "list" | "get" | "ofKey">;
  /** The credential with this kind and secret; undefined when it is malformed, unknown, expired or revoked. */
  authenticate(kind: CredentialKind, secret: string): Promise<Credential | undefined>;
  /** Verifies the token of a caller; undefined without an issuer. Throws `ServiceError` for a token that proves nothing. */
  proveCaller?: (token: string) => Promise<ProvenCaller>;
  audit: Pick<AuditStore, "record">;
  clientTokens: ClientTokens;
  /** Passes what belongs to a request at another replica on to it. */
  bus: Pick<Bus, "request" | "serve">;
  /** Runs the work of a request with access to one organisation only. */
  within: Store["within"];
  /** Counts one query. Undefined for tiers without a limit. */
  rateLimit(orgId: string, tier: string): Promise<RateLimitState | undefined>;
  /** Aborted when the process begins to stop: streams without a run end. */
  closing: AbortSignal;
  /** False while the store is unavailable, until the bus was connected once, and while the process drains. */
  ready(): Promise<boolean>;
  /** Counts one request of a door that begins no query. Undefined for tiers without a limit. */
  doorLimit(orgId: string, tier: string): Promise<RateLimitState | undefined>;
  streams: OpenStreams;
  metrics: MetricsPage & Pick<Metrics, "queryAnswered" | "requestAnswered">;
  log: Log;
  clock: Clock;
  version: string;
  limits: OperatorLimits;
  /** Queue of lists and details. Organisations take turns, so that one with many reads delays neither the others nor queries. */
  reads: FairQueue;
  /** Origins whose pages may call the API; `*` for all. */
  corsOrigins: readonly string[];
  publicUrl?: string;
  /** True when the local development variant is served. */
  local: boolean;
  /** Address that the server listens on. On a loopback address the local variant checks the Host header. */
  host?: string;
  /** True when a proxy sets the X-Forwarded headers. */
  trustProxy: boolean;
  /** True when metrics have their own port. */
  metricsApart?: boolean;
  /** Bearer token for the metrics. Without it, every client of the port can read them. */
  metricsToken?: string;
  /** Maximum silence of a stream, in milliseconds. */
  keepaliveMs?: number;
  /** Maximum age of a stream, in milliseconds: 5 minutes, or the run timeout and 30 s if that is longer. */
  maxStreamAgeMs?: number;
}
