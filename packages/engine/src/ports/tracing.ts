import type { QueryResponse, TraceContext } from "@patchbay/protocol";
import type { ChosenModel, ModelRequest, ModelTurn } from "./model-provider.ts";
import type { CallRecord, RunRecord, RunTrace } from "./records.ts";

/** Makes run spans. Undefined in a process without an OpenTelemetry provider, so that nothing is made or counted. */
export interface Tracing {
  /** Begins a run's first segment. `trace`: the client's span, as the query names it. */
  begin(agentId: string, trace: TraceContext | undefined): Segment;
  /** Begins the next segment for a run that an earlier owner has worked on. */
  resume(run: RunRecord): Segment;
}

/**
 * How a segment ended. `queued`: the run waits for its thread or its organisation. `rejected`: the query became no run.
 */
export type SegmentEnd = "ended" | "waits" | "queued" | "moved" | "left" | "joined" | "rejected";

type Accepted = Pick<RunRecord, "runId" | "threadId" | "sessionId" | "requestId" | "request" | "waitedMs">;

/** The span for one segment of a run: one process's work on it. Makes the spans below it. */
export interface Segment {
  /** For the run's row. */
  readonly trace: RunTrace;
  /** The trace id if it is sampled. */
  readonly traceId: string | undefined;
  /** Names the agent. */
  named(agentName: string): void;
  /** Names the run that the segment belongs to. */
  accepted(run: Accepted): void;
  /** Stops recording model texts, because hooks may replace them. */
  withholdTexts(): void;
  /** Runs `work` with the segment as the active span, so that spans of instrumented libraries are below it. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Runs `work` in a plan's span, above its attempts' spans. */
  plan<T>(work: () => Promise<T>): Promise<T>;
  /** Runs one attempt at a model turn in a span. */
  attempt(model: ChosenModel, request: ModelRequest, work: () => Promise<ModelTurn>): Promise<ModelTurn>;
  /** Runs one call in a span, whose context is for the runtime. */
  call<T>(call: CallRecord, work: (trace: TraceContext) => Promise<T>): Promise<T>;
  /** Records calls that were refused before they were delivered. */
  refused(calls: readonly CallRecord[]): void;
  /** Records how the run ended. */
  result(result: QueryResponse): void;
  /** Ends the span. Only the first end counts. `error`: why the query was rejected. */
  end(how: SegmentEnd, error?: unknown): void;
}
