import type {
  CallErrorCode,
  CLOSE_CODES,
  FlowFault,
  FlowMode,
  HttpErrorCode,
  OperatorLimits,
  RunErrorCode,
} from "@patchbay/protocol";
import type { ModelErrorKind, TokenUsage } from "./model-provider.ts";
import type { ServiceErrorCode } from "./service-error.ts";

/** A query's endpoint. */
export type QueryEndpoint =
  | "query"
  | "query-stream"
  | "retry"
  | "local"
  | "chat-completions"
  | "responses"
  | "ui-stream";

/** The limits on open event streams. */
export const STREAM_LIMITS = [
  "streamsPerKey",
  "streamsPerRun",
  "streamsPerOrganisation",
] as const satisfies (keyof OperatorLimits)[];
export type StreamLimit = (typeof STREAM_LIMITS)[number];

/** Why a runtime's connection was refused: its upgrade request's code, its key's limit, or the close reason. */
export const RUNTIME_REFUSALS = [
  "authentication_failed",
  "agent_mismatch",
  "invalid_request",
  "unavailable",
  "connectionsPerKey",
  "hellosPerMinute",
  "badFrame",
  "wrongVersion",
  "manifestRefused",
  "serviceConflict",
  "helloTimeout",
  "tooManyFrames",
] as const satisfies (HttpErrorCode | keyof OperatorLimits | keyof typeof CLOSE_CODES)[];
export type RuntimeRefusal = (typeof RUNTIME_REFUSALS)[number];

/** A turn's model. */
export interface AskedModel {
  provider: string;
  model: string;
}

/** An ended attempt at a model turn. Only a successful one has times. */
export interface EndedAttempt extends AskedModel {
  outcome: "succeeded" | "aborted" | ModelErrorKind;
  ms?: number;
  /** Until the first text or thought; absent for a turn that only calls functions. */
  firstTokenMs?: number;
}

/** A function call that ended. */
export interface EndedCall {
  agentId: string;
  /** Absent for a function that the agent does not have. */
  functionName?: string;
  /** The run's code if the run ended before the call. */
  outcome: "succeeded" | CallErrorCode | RunErrorCode;
  /** The rule that denied it. */
  rule?: string;
  /** Absent for a call that was not sent to a runtime. */
  ms?: number;
}

/**
 * Counts events. Labels have a limited set of values and never contain user text: agents, functions and models beyond a
 * limit are counted under `other`. Methods never throw.
 */
export interface Metrics {
  /**
   * A run ended: `succeeded` or its error code. `durationMs` includes the time in the queue, but not waiting for
   * people.
   */
  runEnded(outcome: "succeeded" | RunErrorCode, durationMs: number): void;
  /** A function call ended. */
  callEnded(call: EndedCall): void;
  /** A runtime refused, by its role lists, a call that the control plane had allowed. */
  accessDisagreed(): void;
  /** Data-flow rules did not allow a call. */
  flowDisallowed(call: { mode: FlowMode; rule: FlowFault["rule"] }): void;
  /** A function set connected that allows more than the set it replaces. */
  accessWidened(): void;
  /** An attempt at a model turn ended. */
  modelTurn(attempt: EndedAttempt): void;
  /** What the provider billed for a turn, failed attempts included. */
  turnBilled(model: AskedModel, usage: TokenUsage, costMicros: number): void;
  /** This replica holds a run's lease. Dispose the result when it stops working on the run. */
  leaseHeld(): Disposable;
  /** Another replica may have claimed this one's run, because its lease was not renewed in time. */
  leaseLost(): void;
  runtimeConnected(): void;
  runtimeDisconnected(): void;
  /** A runtime's connection was refused, or closed because of its frames. */
  runtimeRefused(reason: RuntimeRefusal): void;
  /** A runtime's frame was dropped because the connection exceeded its limit. */
  frameDropped(): void;
  /** A request to an API was answered. `client_gone`: its client disconnected before. */
  requestAnswered(api: string, outcome: "succeeded" | "client_gone" | ServiceErrorCode): void;
  /** A request to a query endpoint was accepted, or refused with a 4xx or 5xx status. */
  queryAnswered(endpoint: QueryEndpoint, outcome: "accepted" | "joined" | ServiceErrorCode): void;
  /** A webhook delivery attempt ended. `failed`: it is repeated. `given_up`: it was the last one. */
  webhookAttempted(outcome: "delivered" | "failed" | "given_up"): void;
  /** An event stream was opened. Dispose the result when the stream ends. */
  streamOpened(): Disposable;
  /** An event stream was refused because a limit was reached. */
  streamRefused(limit: StreamLimit): void;
  /** A query waits for a stream slot. Dispose the result when the wait ends. */
  streamWaiting(): Disposable;
}

const nothing = (): Disposable => ({ [Symbol.dispose]() {} });

/** Discards all metrics. */
export const silentMetrics: Metrics = {
  runEnded() {},
  callEnded() {},
  accessDisagreed() {},
  flowDisallowed() {},
  accessWidened() {},
  modelTurn() {},
  turnBilled() {},
  leaseHeld: nothing,
  leaseLost() {},
  runtimeConnected() {},
  runtimeDisconnected() {},
  runtimeRefused() {},
  frameDropped() {},
  requestAnswered() {},
  queryAnswered() {},
  webhookAttempted() {},
  streamOpened: nothing,
  streamRefused() {},
  streamWaiting: nothing,
};

/** The metrics in scrape format. */
export interface MetricsPage {
  contentType: string;
  read(): Promise<string>;
}
