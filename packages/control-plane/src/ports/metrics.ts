import type { CallErrorCode, HttpErrorCode, LINK_CLOSE, OperatorLimits, RunErrorCode } from "@patchbay/protocol";
import type { ModelErrorKind, TokenUsage } from "./model-provider.ts";

/** The way a query came in: endpoint 1, 2 or 3. */
export type QueryEndpoint = "query" | "query-stream" | "local";

/** The limits on open event streams. */
export type StreamLimit = keyof Pick<OperatorLimits, "streamsPerKey" | "streamsPerRun" | "streamsPerOrganisation">;

/** Why a connection of a runtime was refused or closed: a limit of its key, or the reason of the close. */
export type RuntimeRefusal =
  | keyof typeof LINK_CLOSE
  | keyof Pick<OperatorLimits, "connectionsPerKey" | "hellosPerMinute">;

/** Counts what happens. Labels are closed sets, never a user's text; recording never throws. */
export interface Metrics {
  /** A run ended: `succeeded`, or the code of its error. `durationMs` counts from its acceptance, waiting included. */
  runEnded(outcome: "succeeded" | RunErrorCode, durationMs: number): void;
  /** One function call has its outcome. */
  callEnded(outcome: "succeeded" | CallErrorCode): void;
  /** A runtime refused by its roles what the control plane had let through. */
  accessDisagreed(): void;
  /** A function set was connected that allows more than the one it replaces. */
  accessWidened(): void;
  /** One attempt at a model turn ended. */
  modelTurn(provider: string, outcome: "succeeded" | "aborted" | ModelErrorKind): void;
  /** Tokens that a finished turn was billed for. */
  tokensUsed(provider: string, usage: TokenUsage): void;
  runtimeConnected(): void;
  runtimeDisconnected(): void;
  /** A connection of a runtime was refused or closed: for a limit, by its name, or for the reason with which it was closed. */
  runtimeRefused(reason: RuntimeRefusal): void;
  /** A frame of a runtime was dropped: its connection had sent more than its limit. */
  frameDropped(): void;
  /** A request of a query endpoint was accepted, or refused with a 4xx or 5xx. */
  queryAnswered(endpoint: QueryEndpoint, outcome: "accepted" | "joined" | HttpErrorCode): void;
  /** `disposed` when the stream has ended for whatever reason. */
  streamOpened(): Disposable;
  /** An event stream was refused because a limit was reached. */
  streamRefused(limit: StreamLimit): void;
  /** A query waits for a place among the open streams; disposed when it has one or gave up. */
  streamWaiting(): Disposable;
}

/** Records nothing. */
export const silentMetrics: Metrics = {
  runEnded() {},
  callEnded() {},
  accessDisagreed() {},
  accessWidened() {},
  modelTurn() {},
  tokensUsed() {},
  runtimeConnected() {},
  runtimeDisconnected() {},
  runtimeRefused() {},
  frameDropped() {},
  queryAnswered() {},
  streamOpened: () => ({ [Symbol.dispose]() {} }),
  streamRefused() {},
  streamWaiting: () => ({ [Symbol.dispose]() {} }),
};

/** What a scrape of the figures reads. */
export interface MetricsPage {
  contentType: string;
  read(): Promise<string>;
}
