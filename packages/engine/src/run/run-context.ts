import type { OperatorLimits } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import type { Log } from "@patchbay/kit";
import type { Metrics } from "../ports/metrics.ts";
import type { ModelCatalog } from "../ports/model-provider.ts";
import type { RunRecord } from "../ports/records.ts";
import { StoreUnavailable } from "../ports/store/run-store.ts";
import type { AuditStore } from "../ports/store/audit.ts";
import type { Store } from "../ports/store/stores.ts";
import type { Tracing } from "../ports/tracing.ts";
import type { CallerTokens } from "./caller-tokens.ts";
import type { Permits } from "./calls/permits.ts";
import type { Feed } from "./follow/feed.ts";

/** What the run layer works with. A process has one. */
export interface RunContext extends Pick<Store, "runs" | "threads" | "runtimes" | "accounts" | "approvals" | "within"> {
  audit: Pick<AuditStore, "record">;
  gateway: FunctionGateway;
  permits: Permits;
  callerTokens: CallerTokens;
  models: ModelCatalog;
  feed: Feed;
  /** Readers of runs that this process claims: see `follow/cancel-when-abandoned.ts`. */
  readers: { claimed(run: RunRecord, signal: AbortSignal): Promise<void> };
  clock: Clock;
  log: Log;
  metrics: Metrics;
  observe: Observer;
  /** Absent without an OpenTelemetry provider. */
  tracing?: Tracing;
  limits: OperatorLimits;
  /** Whether organisations in a tier pay for their turns. */
  charged(tier: string): boolean;
  runTimeoutMs: number;
  /** Silence after which an attempt at a model turn is given up, in milliseconds. Default 60,000. */
  providerIdleMs?: number;
  /** A number from 0 to below 1, for the length of pauses. Default `Math.random`. */
  random?: () => number;
}

/**
 * One event in a run for a live view. Contains no arguments or results. The query text is for a terminal, not for a
 * log.
 */
export type QueryLine = { at: number; runId: string; agentId: string; role?: string } & (
  | { kind: "query"; text: string }
  | { kind: "call"; functionName: string; ok: boolean; code?: string; ms: number }
  | { kind: "done"; ms: number; tokens: number }
  | { kind: "failed"; code: string; ms: number }
);

/** Receives each event when it happens. The run waits for it: return soon and do not throw. */
export type Observer = (line: QueryLine) => void;

/** Attempts when no signal ends the retries: about a minute. */
const MAX_ATTEMPTS = 41;

/** Retries `work` with exponential back-off while the store is unavailable: until `signal` aborts, or for about a minute. */
export async function withRetry<T>(
  work: () => Promise<T>,
  { clock, log, signal }: Pick<RunContext, "clock" | "log"> & { signal?: AbortSignal },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || (!signal && attempt >= MAX_ATTEMPTS)) throw error;
      log.warn("store unavailable, retrying", { attempt });
      await clock.sleep(Math.min(2_000, 100 * 2 ** (attempt - 1)), signal ? { signal } : {});
    }
  }
}

/** The models that an organisation may use. */
export const modelsFor = ({ models }: Pick<RunContext, "models">, orgId: string): ModelCatalog => ({
  choose: (wanted) => models.choose({ ...wanted, orgId }),
});
