import {
  type CallFrame,
  type CallOutcome,
  type ControlPlaneFrame,
  GEN_AI,
  hasTraceProvider,
  type HookVerdict,
  OPERATIONS,
  PATCHBAY,
  type PreparedContext,
  type TraceContext,
} from "@patchbay/protocol";
import type { Service } from "../service.ts";

/** A runtime span, around the owner's code. */
export interface SpanOf<T> {
  name: string;
  attributes: Record<string, string | number>;
  /** The control plane's span that it belongs to. Without it, it begins a trace. */
  trace: TraceContext | undefined;
  /** A failed result's code. */
  failureOf(result: T): string | undefined;
}

/** Runs `work` in a span, which is the active one for the owner's code. */
export type InSpan = <T>(span: () => SpanOf<T>, work: () => Promise<T>) => Promise<T>;

/** Makes spans if an OpenTelemetry provider is registered now. Otherwise `work` runs as it is, and the API is not even loaded. */
export function createTraces(): { load(): Promise<void>; inSpan: InSpan } {
  if (!hasTraceProvider()) return { load: async () => {}, inSpan: (_span, work) => work() };
  let inSpan: InSpan | undefined;
  return {
    async load() {
      ({ inSpan } = await import("./spans.ts"));
    },
    inSpan: (span, work) => (inSpan ? inSpan(span, work) : work()),
  };
}

type FrameOf<Type extends ControlPlaneFrame["type"]> = Extract<ControlPlaneFrame, { type: Type }>;

/** A call's checks and handler. */
export const callSpan =
  ({ function: name, callId, runId, threadId, attempt, trace }: CallFrame) =>
  (): SpanOf<CallOutcome> => ({
    name: `${OPERATIONS.tool} ${name}`,
    attributes: {
      [GEN_AI.operation]: OPERATIONS.tool,
      [GEN_AI.toolName]: name,
      [GEN_AI.toolType]: "function",
      [GEN_AI.conversation]: threadId,
      [PATCHBAY.runId]: runId,
      [PATCHBAY.callId]: callId,
      [PATCHBAY.attempt]: attempt,
    },
    trace,
    // A call that a person must approve has not failed.
    failureOf: (outcome) => (outcome.ok || outcome.code === "approval_required" ? undefined : outcome.code),
  });

/** The preparation of a query's context. */
export const prepareSpan =
  ({ manifest: { name } }: Service, { trace }: FrameOf<"prepare">) =>
  (): SpanOf<PreparedContext> => ({
    name: `prepare ${name}`,
    attributes: { [PATCHBAY.service]: name },
    trace,
    failureOf: ({ ok }) => (ok ? undefined : "invalid_context"),
  });

export const hookSpan =
  ({ manifest: { name } }: Service, { call: { hook }, trace }: FrameOf<"hook">) =>
  (): SpanOf<HookVerdict> => ({
    name: `${hook} ${name}`,
    attributes: { [PATCHBAY.service]: name, [PATCHBAY.hook]: hook },
    trace,
    failureOf: ({ verdict }) => (verdict === "failed" ? "hook_failed" : undefined),
  });
