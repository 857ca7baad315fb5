import type { OperatorLimits } from "@patchbay/protocol";
import type { ProveCaller } from "../accounts/callers.ts";
import type { ClientTokens } from "../accounts/client-tokens.ts";
import type { KeylessAccess } from "../accounts/keyless.ts";
import type { RateLimit } from "../accounts/limits.ts";
import type { AuditStore } from "@patchbay/engine/ports/store/audit";
import type { Bus } from "@patchbay/engine/ports/bus";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Log } from "@patchbay/kit";
import type { Metrics, MetricsPage } from "@patchbay/engine/ports/metrics";
import type { Credential, CredentialKind, Store, ThreadStore } from "@patchbay/engine/ports/store/stores";
import type { Approvals, Runs } from "@patchbay/engine/run/api";
import type { FairQueue } from "@patchbay/engine/ports/fair-queue";
import type { OpenStreams } from "./open-streams.ts";

/** Dependencies of the query API. */
export interface HttpDeps {
  runs: Runs;
  approvals: Approvals;
  threads: Pick<ThreadStore, "list" | "get" | "ofKey">;
  /** The credential with this kind and secret; undefined when it is malformed, unknown, expired or revoked. */
  authenticate(kind: CredentialKind, secret: string): Promise<Credential | undefined>;
  /** Undefined without an issuer. */
  proveCaller?: ProveCaller;
  /** Admits callers without a key; undefined without an issuer. */
  keyless?: KeylessAccess;
  audit: Pick<AuditStore, "record">;
  clientTokens: ClientTokens;
  /** Passes work to the replica that has its request. */
  bus: Pick<Bus, "request" | "serve">;
  /** Runs a request's work with access to one organisation only. */
  within: Store["within"];
  /** Counts one query. */
  rateLimit: RateLimit;
  /** Aborted when the process starts to stop: streams without a run end. */
  closing: AbortSignal;
  /** False while the store is unavailable, before the bus first connects, and while the process drains. */
  ready(): Promise<boolean>;
  /** Counts one request that starts no query. */
  adapterLimit: RateLimit;
  streams: OpenStreams;
  metrics: MetricsPage & Pick<Metrics, "queryAnswered" | "requestAnswered">;
  log: Log;
  clock: Clock;
  version: string;
  limits: OperatorLimits;
  /** Queue for lists and details. Organisations take turns: many reads of one delay neither others nor queries. */
  reads: FairQueue;
  /** Origins whose pages may call the API; `*` allows all. */
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
  /** Bearer token for metrics. Without it, every client on the port can read them. */
  metricsToken?: string;
  /** Maximum silence on a stream, in milliseconds. */
  keepaliveMs?: number;
  /** Maximum age of a stream, in milliseconds: 5 minutes, or the run timeout plus 30 s if that is longer. */
  maxStreamAgeMs?: number;
}
